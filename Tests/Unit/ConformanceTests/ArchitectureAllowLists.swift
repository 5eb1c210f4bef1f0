/// Where the sources may do what they otherwise may not, each with its reason. An entry nobody needs fails as well.
enum AllowLists {
    /// `@unchecked Sendable`, by file and type.
    static let unchecked: [String: String] = [
        "Sources/Sockets/EventLoop/EventLoop.swift EventLoop":
            "touched by its own thread; what others touch is behind a mutex",
        "Sources/Sockets/EventLoop/Channel.swift Channel":
            "touched on the thread of its loop, asserted in debug builds",
        "Sources/Sockets/EventLoop/Channel.swift TimerChannel": "see Channel, its superclass",
        "Sources/Sockets/EventLoop/Channel.swift GracePeriod": "see Channel, its superclass",
        "Sources/Sockets/TCP/Listener.swift Listener": "see Channel, its superclass",
        "Sources/Sockets/TCP/SocketStream.swift SocketStream": "see Channel, its superclass",
        "Sources/Sockets/EventLoop/BufferPool.swift BufferPool": "a member of one loop, called on its thread",
        "Sources/Sockets/TLS/TLSContext.swift TLSContext": "an SSL_CTX that is not changed after init",
        "Sources/HTTP/Server/HTTPServer.swift HTTPLoop": "one per loop, touched on its thread",
        "Sources/HTTP/HTTP2/HTTP2Connection.swift HTTP2Connection":
            "touched on the thread of its stream's loop, asserted",
        "Sources/HTTP/HTTP2/HTTP2Responding.swift HTTP2Answer": "made and taken apart on the loop of its connection",
        "Sources/HTTP/Client/ConnectionPool.swift ConnectionPool": "one per loop, touched on its thread, asserted",
        "Sources/Storage/SQLite/SQLiteConnection.swift SQLiteConnection": "used by one thread at a time: see its proof",
        "Sources/Storage/PostgreSQL/PostgresConnection.swift PostgresConnection":
            "used by one thread at a time: see its proof",
        "Sources/Storage/PostgreSQL/PostgresReadAhead.swift PostgresReadAhead":
            "used by the thread that uses the connection which made it",
        "Sources/Storage/PostgreSQL/PostgresSession.swift PostgresSession": "owned by one PostgresConnection",
        "Sources/Crypto/SecretBytes.swift Storage": "written by init alone",
        "Sources/Crypto/FetchedAlgorithms.swift FetchedAlgorithms": "OpenSSL algorithms are immutable once fetched",
        "Sources/Crypto/RSA.swift EVPVerifier": "a context that is only copied from",
        "Sources/Crypto/EVPKey.swift EVPKey": "a complete key; OpenSSL locks its own caches inside",
        "Sources/AppleSimulator/OpenSSL/ClientKey.swift ClientKey": "a complete key, as above",
        "Sources/AppleSimulator/OpenSSL/RSASigningKey.swift RSASigningKey": "a complete key, as above",
    ]

    /// `unsafe`, `@safe` and `@unsafe`, by folder.
    static let unsafe: [String: String] = [
        "Sources/Sockets/": "system calls and OpenSSL's TLS take pointers; wrapped once, here",
        "Sources/HTTP/HTTP2/HTTP2Session.swift": "nghttp2 takes pointers; wrapped here and in its callbacks",
        "Sources/HTTP/HTTP2/HTTP2Callbacks.swift": "what nghttp2 calls is given pointers",
        "Sources/Crypto/": "OpenSSL's digests, ciphers and keys take pointers; wrapped once, here",
        "Sources/Storage/SQLite/": "SQLite's interface takes and gives pointers; wrapped once, here",
        "Sources/Storage/PostgreSQL/": "libpq's interface takes and gives pointers; wrapped once, here",
        "Sources/AppleSimulator/OpenSSL/": "the simulator's own wrapper, which shares nothing with the server's",
    ]

    /// What ends the process, by file: never within reach of a peer.
    static let traps: [String: String] = [
        "Sources/Crypto/FetchedAlgorithms.swift": "an OpenSSL without SHA-256 or AES-GCM: at the first use, at start",
        "Sources/Crypto/AES256GCM.swift": "no memory for a context",
        "Sources/Crypto/SHA256.swift": "no memory for a context",
        "Sources/Crypto/SecretBytes.swift": "no randomness from the system",
        "Sources/Crypto/Random.swift": "no randomness from the system",
        "Sources/Crypto/SealingKey.swift": "a key of the wrong length: the caller has checked the file",
        "Sources/Crypto/HMACSHA256.swift": "lengths that callers write in the sources; no memory for a context",
        "Sources/HTTP/Server/Router.swift": "a route written wrongly in the sources: at start",
        "Sources/AppleSimulator/OpenSSL/OpenSSLHash.swift": "no randomness from the system",
        "Sources/AppleSimulator/OpenSSL/RSASigningKey.swift": "no key from OpenSSL: at start, or when one is rotated",
    ]

    /// `Task {`, `Task.detached` and the like, by file: such a task leaves its loop and nobody waits for it.
    static let unstructuredTasks: [String: String] = [
        "Sources/Storage/Engine/Waits.swift":
            "a caller stops waiting before the store is done; a group would wait",
        "Sources/Storage/Store/Store.swift": "a note is written though nobody waits for it any more",
        "Sources/Accounts/Database/StoreCounts.swift": "old numbers are told while they are counted again",
        "Sources/Storage/Transactions/StoreTrouble.swift": "one probe for all who ask, longer than any of them waits",
        "Sources/Bramley/Metrics/CountsCache.swift": "a count goes on when the page that asked has been answered",
    ]

    /// Threads beside the event loops, by file.
    static let threads: [String: String] = [
        "Sources/Sockets/System/SystemThread.swift":
            "the loops; getaddrinfo(3), which blocks, for each look-up in flight; the log, which blocks when nobody reads",
        "Sources/Storage/Engine/ConnectionQueue.swift":
            "databases block on disks, locks and networks; a queue for each connection",
    ]

    /// The longest file of ours, in lines.
    static let longestFile = 500
}
