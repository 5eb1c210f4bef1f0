internal import Sockets
internal import Synchronization

/// The idle connections of one loop, by origin, reach and proxy.
///
/// Proof for `@unchecked Sendable`: touched only on the thread of `loop`, which `acquire` and `keep` assert.
final class ConnectionPool: @unchecked Sendable {
    struct Origin: Hashable {
        var isSecure: Bool
        var host: String
        var port: UInt16
        /// The tunnel's proxy; nil for a direct connection.
        var proxy: ProxyServer?
        /// The reach its address was checked against: a connection for an operator's address may be internal.
        var reach: Reach
    }

    /// The most connections kept per origin, and for how long in milliseconds. As many as sign-ins are likely to run at
    /// once: opening another costs more than the exchange itself.
    private static let maximum = 64
    private static let idleTime: Int64 = 20_000

    let loop: EventLoop
    private var idle: [Origin: [SocketStream]] = [:]

    init(loop: EventLoop) { self.loop = loop }

    /// A connection that, as far as we know, is still open and silent.
    func acquire(_ origin: Origin) -> SocketStream? {
        loop.assertOnLoop()
        while let stream = idle[origin]?.popLast() {
            stream.isIdle = false
            // Unrequested bytes would be taken for the answer to the next request.
            if stream.isQuiet() { return stream }
            stream.close()
        }
        return nil
    }

    func keep(_ stream: SocketStream, for origin: Origin) {
        loop.assertOnLoop()
        idle[origin]?.removeAll { $0.hasEnded }
        // Strangers choose the hosts of client documents: none may leave anything behind.
        for (origin, streams) in idle where streams.allSatisfy(\.hasEnded) { idle[origin] = nil }
        guard !loop.isDraining, idle[origin, default: []].count < Self.maximum else { return stream.close() }
        stream.isIdle = true
        stream.setDeadline(loop.now.adding(milliseconds: Self.idleTime))
        idle[origin, default: []].append(stream)
    }
}

/// The TLS settings of a client, made for the first `https` connection: parsing the system's certificates is the most
/// expensive part of a start and takes a megabyte.
final class ClientTLS: Sendable {
    private let made = Mutex<TLSContext?>(nil)
    private let make: @Sendable () throws(StreamError) -> TLSContext

    init(_ make: @escaping @Sendable () throws(StreamError) -> TLSContext) { self.make = make }

    /// The same context each time. After a failure the next caller tries again.
    func context() throws(StreamError) -> TLSContext {
        try made.withLock { made throws(StreamError) in
            if let made { return made }
            let context = try make()
            made = context
            return context
        }
    }
}
