import Loops
import Sockets
import Synchronization
import Testing

/// A connection that has sent nothing costs no task: it waits with its loop.
@Suite struct FirstByteTests {
    /// Counts what arrives, and echoes it.
    private final class Arrivals: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }

        func serve(_ stream: SocketStream) async {
            number.withLock { $0 += 1 }
            await echo(stream)
        }
    }

    /// Sends one byte, half-closes and reads the echo. Connections are accepted in order, so whoever connected before
    /// has been accepted by the end of it.
    private func exchange(_ address: SocketAddress, on loop: EventLoop) async throws -> [UInt8] {
        let stream = try await connect(address, on: loop)
        try await stream.write([1])
        stream.shutdownWrite()
        return await readAll(stream)
    }

    @Test func taskComesWithTheFirstByte() async throws {
        let arrivals = Arrivals()
        let (before, answer) = try await onLoop(serving: arrivals.serve) { loop, _ in
            let address = try listen(on: loop, firstByteTimeout: 5000)
            let silent = try await connect(address, on: loop)
            #expect(try await exchange(address, on: loop) == [1])
            let before = arrivals.count
            try await silent.write([7])
            silent.shutdownWrite()
            return (before, await readAll(silent))
        }
        #expect(before == 1)
        #expect(answer == [7])
        #expect(arrivals.count == 2)
    }

    @Test func silentConnectionIsClosedInTime_AndNeverHadATask() async throws {
        let arrivals = Arrivals()
        let answer = try await onLoop(serving: arrivals.serve) { loop, _ in
            await readAll(try await connect(try listen(on: loop, firstByteTimeout: 30), on: loop))
        }
        #expect(answer.isEmpty)
        #expect(arrivals.count == 0)
    }

    @Test func deadlineOfTheFirstByteIsStillSet_WhenTheTaskBegins() async throws {
        let left = Mutex<Int64?>(nil)
        _ = try await onLoop(
            serving: { stream in
                left.withLock { $0 = stream.deadline.nanoseconds - Deadline.now.nanoseconds }
                stream.close()
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop, firstByteTimeout: 60_000), on: loop)
                try await stream.write([1])
                return await readAll(stream)
            })
        let span = try #require(left.withLock { $0 })
        #expect((1...60_000_000_000).contains(span))
    }

    /// Bytes that epoll has not reported yet are a request in flight, not an idle connection.
    @Test func bytesThatCameJustBeforeDrainingAreServed() async throws {
        let arrivals = Arrivals()
        let (answer, silence) = try await onLoop(serving: arrivals.serve) { loop, group in
            let address = try listen(on: loop, firstByteTimeout: 5000)
            let asking = try await connect(address, on: loop)
            let silent = try await connect(address, on: loop)
            _ = try await exchange(address, on: loop)
            // No suspension in between: the loop hears of the byte after it was told to drain.
            try await asking.write([7])
            group.beginDrain()
            asking.shutdownWrite()
            return (await readAll(asking), await readAll(silent))
        }
        #expect(answer == [7])
        #expect(silence.isEmpty)
        #expect(arrivals.count == 2)
    }
}
