package import Sockets
internal import Synchronization

/// Runs `body` as a task of one loop beside its root, drains, and hands the result over.
package func onLoop<Value: Sendable>(
    loops: Int = 1,
    serving serve: @escaping @Sendable (SocketStream) async -> Void = { $0.close() },
    _ body: @escaping @Sendable (EventLoop, EventLoopGroup) async throws -> Value
) async throws -> Value {
    try await onLoop(loops: loops, servingWith: { _ in serve }, body)
}

/// The same where a loop needs more than a function to serve its connections.
/// - Parameter server: called on each loop, before `body`: what the loop does with a connection.
package func onLoop<Value: Sendable>(
    loops: Int = 1,
    servingWith server: @escaping @Sendable (EventLoop) -> @Sendable (SocketStream) async -> Void,
    _ body: @escaping @Sendable (EventLoop, EventLoopGroup) async throws -> Value
) async throws -> Value {
    let group = try EventLoopGroup(count: loops)
    let result = Mutex<Result<Value, any Error>?>(nil)
    try await group.run { loop in
        let serve = server(loop)
        async let root: Void = loop.runRoot(serve)
        if loop.index == 0 {
            do {
                let value = try await body(loop, group)
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
            group.beginDrain()
            group.abort()
        }
        await root
    }
    guard let outcome = result.withLock({ $0 }) else { throw NoResult() }
    return try outcome.get()
}

private struct NoResult: Error {}

extension BoundSockets {
    /// On a free port of 127.0.0.1.
    package static func local(count: Int = 1) throws(SystemError) -> BoundSockets {
        try BoundSockets(address: SocketAddress(ip: .v4(0x7F00_0001), port: 0), count: count)
    }
}

/// A listener on 127.0.0.1, port 0, on this loop; its address.
package func listen(
    on loop: EventLoop, admission: AdmissionControl = AdmissionControl(maximum: 10_000, maximumPerAddress: 10_000),
    firstByteTimeout: Int64? = nil
) throws -> SocketAddress {
    let sockets = try BoundSockets.local()
    _ = try Listener.start(sockets, on: loop, admission: admission, firstByteTimeout: firstByteTimeout)
    return sockets.address
}

/// Connects to `address` and gives the stream two minutes for everything.
package func connect(_ address: SocketAddress, on loop: EventLoop) async throws -> SocketStream {
    let stream = try await SocketStream.connect(
        to: [address], on: loop, deadline: Deadline.now.adding(milliseconds: 120_000))
    stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
    return stream
}

/// Reads until the end of the stream or an error.
package func readAll(_ stream: SocketStream) async -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while let count = try? await stream.read(into: &buffer, at: 0), count > 0 {
        all.append(contentsOf: buffer[..<count])
    }
    return all
}
