import Glibc
import Loops
import Synchronization
import Testing

@testable import Sockets

@Suite struct ListenerTests {
    @Test func secondBindOfOneAddressFails_ThoughTheFirstSharesItAmongLoops() throws {
        let first = try BoundSockets.local(count: 2)
        #expect(throws: SystemError.self) {
            _ = try BoundSockets(address: first.address, count: 1)
        }
    }

    @Test func connectionsBeyondTheLimitAreClosed_AndSlotsAreReused() async throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 2)
        let served = try await onLoop(serving: echo) { loop, _ -> [Int] in
            let address = try listen(on: loop, admission: admission)
            let first = try await connect(address, on: loop)
            let second = try await connect(address, on: loop)
            for stream in [first, second] { _ = try await roundTrip(stream) }
            let third = try await connect(address, on: loop)
            let refused = await readAll(third).count
            first.close()
            while admission.total > 1 { await Task.yield() }
            let fourth = try await connect(address, on: loop)
            return [refused, try await roundTrip(fourth)]
        }
        #expect(served == [0, 1])
    }

    @Test func acceptingContinuesWithoutSpinning_AfterDescriptorsRanOut() async throws {
        let calls = Mutex(0)
        let served = try await onLoop(serving: echo) { loop, _ in
            let sockets = try BoundSockets.local()
            let admission = AdmissionControl(maximum: 10, maximumPerAddress: 10)
            _ = try Listener(sockets, on: loop, admission: admission) { descriptor in
                // One failure; whoever waits then is turned away through the reserve, the next one is served.
                let call = calls.withLock {
                    $0 += 1; return $0
                }
                return call == 1 ? .exhausted(EMFILE) : SystemCalls.accept(descriptor)
            }
            let first = try await connect(sockets.address, on: loop)
            let refused = await readAll(first).count
            let second = try await connect(sockets.address, on: loop)
            return (refused, try await roundTrip(second))
        }
        #expect(served == (0, 1))
        #expect(calls.withLock { $0 } < 12)
    }

    private func roundTrip(_ stream: SocketStream) async throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 8)
        try await stream.write([42])
        return try await stream.read(into: &buffer, at: 0)
    }
}
