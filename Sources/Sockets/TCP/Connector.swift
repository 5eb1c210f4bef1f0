internal import CLinux
internal import Glibc

extension SocketStream {
    /// Connects to the first of `addresses` that answers, until `deadline` at the latest. Call it on the loop.
    ///
    /// - Throws: the error of the last address tried.
    package static func connect(
        to addresses: [SocketAddress], on loop: EventLoop, deadline: Deadline
    ) async throws(StreamError) -> SocketStream {
        var failure = StreamError.broken(EHOSTUNREACH)
        for (index, address) in addresses.enumerated() {
            // The last one may use all remaining time; the others share it, for a dead address family would use it up.
            let left = deadline.nanoseconds - Deadline.now.nanoseconds
            guard left > 0 else { throw .deadline }
            let share = left / Int64(addresses.count - index)
            let until = Deadline(nanoseconds: min(deadline.nanoseconds, Deadline.now.nanoseconds + share))
            do {
                return try await connect(to: address, on: loop, deadline: until)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func connect(
        to address: SocketAddress, on loop: EventLoop, deadline: Deadline
    ) async throws(StreamError) -> SocketStream {
        let stream: SocketStream
        do {
            let descriptor = try SystemCalls.socket(family: address.family)
            let isConnected = try SystemCalls.connect(descriptor.number, to: address)
            stream = try SocketStream(descriptor, peer: address, loop: loop, isConnecting: !isConnected)
        } catch {
            throw .broken(error.code)
        }
        stream.setDeadline(deadline)
        do throws(StreamError) {
            try await stream.waitUntilWritable()
            let code = SystemCalls.pendingError(stream.descriptor)
            guard code == 0 else { throw .broken(code) }
        } catch {
            stream.close()
            throw error
        }
        stream.disableNagle()
        return stream
    }
}
