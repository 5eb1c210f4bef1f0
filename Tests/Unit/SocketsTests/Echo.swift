import Sockets

/// Sends back whatever comes, until the peer half-closes.
@Sendable func echo(_ stream: SocketStream) async {
    stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while let count = try? await stream.read(into: &buffer, at: 0), count > 0 {
        do { try await stream.write(Array(buffer[..<count])) } catch { break }
    }
    stream.close()
}
