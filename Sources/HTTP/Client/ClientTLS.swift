internal import Sockets
internal import Synchronization

/// The TLS settings of a client, made for the first `https` connection: parsing the system's certificates is the most
/// expensive part of a start and takes a megabyte.
final class ClientTLS: Sendable {
    private let made = Mutex<TLSContext?>(nil)
    private let make: @Sendable () throws(StreamError) -> TLSContext

    init(_ make: @escaping @Sendable () throws(StreamError) -> TLSContext) {
        self.make = make
    }

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
