import Glibc
import Loops
import Synchronization
import Testing

@testable import Sockets

@Suite struct AdmissionControlTests {
    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test func oneAddressIsOneIPv4AddressOrOneIPv6Subnet() throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 2)
        let answers = try [
            "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2",
            "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8::3", "2001:db8:0:1::1",
        ].map { admission.admit(try Self.address($0)) }
        #expect(answers == [true, true, false, true, true, true, false, true])
        #expect(admission.tally.refusedByAddress == 2)
        admission.release(try Self.address("2001:db8::9"))
        #expect(admission.admit(try Self.address("2001:db8::a")))
    }

    @Test func limitsHoldAtTheirValueAndOnePastIt() throws {
        let admission = AdmissionControl(maximum: 3, maximumPerAddress: 3)
        let one = try Self.address("192.0.2.1")
        let answers = (0..<4).map { _ in admission.admit(one) }
        #expect(answers == [true, true, true, false])
        #expect(admission.tally.refused == 1)
        for _ in 0..<3 { admission.release(one) }
        #expect(admission.total == 0)
        #expect(admission.admit(one))
    }

    @Test func exemptAddressesCountOnlyInTheTotal() throws {
        let proxy = try Self.address("10.0.0.1")
        let admission = AdmissionControl(maximum: 5, maximumPerAddress: 1, exempt: { $0 == proxy })
        #expect((0..<6).map { _ in admission.admit(proxy) } == [true, true, true, true, true, false])
    }

    /// By the PROXY protocol a connection turns out to be another's.
    @Test func movingCountsUnderTheNewAddress_OrNotAtAll() throws {
        let proxy = try Self.address("10.0.0.1")
        let client = try Self.address("192.0.2.1")
        let admission = AdmissionControl(maximum: 10, maximumPerAddress: 1, exempt: { $0 == proxy })
        #expect(admission.admit(proxy))
        #expect(admission.move(from: proxy, to: client))
        #expect(admission.admit(proxy))
        #expect(!admission.move(from: proxy, to: client))
        #expect(admission.total == 2)
        #expect(admission.tally.refusedByAddress == 1)
        admission.release(client)
        #expect(admission.move(from: proxy, to: client))
        admission.release(client)
        #expect(admission.total == 0)
    }

    @Test(arguments: [(10_000, 8750, 8751, 1 + 32), (64, 56, 57, 1 + 4), (8, 7, 8, 1), (2, 1, 2, 1), (1, 0, 1, 1)])
    func crowdBeginsAboveSevenEighths(maximum: Int, calm: Int, crowded: Int, wanted: Int) throws {
        let admission = AdmissionControl(maximum: maximum, maximumPerAddress: maximum)
        let one = try Self.address("192.0.2.1")
        for _ in 0..<calm { _ = admission.admit(one) }
        #expect(admission.connectionsToShed == 0)
        for _ in calm..<crowded { _ = admission.admit(one) }
        #expect(admission.connectionsToShed == wanted)
    }

    /// Over sockets of the sixth version as well.
    @Test func subnetIsCountedAtTheListener() async throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 2)
        let refused = try await onLoop(serving: echo) { loop, _ in
            let sockets = try BoundSockets(address: SocketAddress(ip: .v6(0, 1), port: 0), count: 1)
            _ = try Listener.start(sockets, on: loop, admission: admission)
            var streams: [SocketStream] = []
            for _ in 0..<2 {
                let stream = try await connect(sockets.address, on: loop)
                var buffer = [UInt8](repeating: 0, count: 8)
                try await stream.write([42])
                _ = try await stream.read(into: &buffer, at: 0)
                streams.append(stream)
            }
            return await readAll(try await connect(sockets.address, on: loop)).isEmpty
        }
        #expect(refused)
        #expect(admission.tally.refusedByAddress == 1)
    }

    /// One connection that waits for a request, and another that comes when there is no descriptor for it.
    private static func exhaust(
        _ admission: AdmissionControl, on loop: EventLoop
    ) async throws -> (waiting: SocketStream, other: SocketStream) {
        let isExhausted = Mutex(false)
        let sockets = try BoundSockets.local()
        _ = try Listener(sockets, on: loop, admission: admission, firstByteTimeout: 60_000) { descriptor in
            isExhausted.withLock { isExhausted in
                defer { isExhausted = false }
                return isExhausted
            } ? .exhausted(EMFILE) : SystemCalls.accept(descriptor)
        }
        let waiting = try await connect(sockets.address, on: loop)
        while admission.total == 0 { await Task.yield() }
        isExhausted.withLock { $0 = true }
        return (waiting, try await connect(sockets.address, on: loop))
    }

    /// A connection that waits for a request has a descriptor that another needs: nobody is turned away.
    @Test func waitingConnectionsMakeRoom_WhenDescriptorsRunOut() async throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 100)
        let served = try await onLoop(serving: echo) { loop, _ in
            let (waiting, other) = try await Self.exhaust(admission, on: loop)
            var buffer = [UInt8](repeating: 0, count: 8)
            try await other.write([42])
            let count = try await other.read(into: &buffer, at: 0)
            return (count, await readAll(waiting).isEmpty)
        }
        #expect(served == (1, true))
        #expect(admission.tally.shed == 1)
    }

    /// Visitors who are too many close connections of visitors, and not the one by which the operator asks for health.
    @Test func visitorsNeverDisplaceOperators() async throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 100)
        let operators = AdmissionControl(maximum: 100, maximumPerAddress: 100)
        let served = try await onLoop(serving: echo) { loop, _ in
            let adminAddress = try listen(on: loop, admission: operators, firstByteTimeout: 60_000)
            let asking = try await connect(adminAddress, on: loop)
            while operators.total == 0 { await Task.yield() }
            let (waiting, _) = try await Self.exhaust(admission, on: loop)
            let isClosed = await readAll(waiting).isEmpty
            var buffer = [UInt8](repeating: 0, count: 8)
            try await asking.write([42])
            return (isClosed, try await asking.read(into: &buffer, at: 0))
        }
        #expect(served == (true, 1))
        #expect(operators.tally.shed == 0)
    }

    /// With as many connections as there is room for, idle ones make room; otherwise new ones are refused.
    @Test func withoutRoomTheNextConnectionIsRefused() async throws {
        let admission = AdmissionControl(maximum: 100, maximumPerAddress: 100)
        admission.setRoom(1)
        let served = try await onLoop(serving: echo) { loop, _ in
            let address = try listen(on: loop, admission: admission)
            let first = try await connect(address, on: loop)
            var buffer = [UInt8](repeating: 0, count: 8)
            try await first.write([42])
            _ = try await first.read(into: &buffer, at: 0)
            let second = try await connect(address, on: loop)
            let refused = await readAll(second).count
            // Room again, without a restart.
            admission.setRoom(.max)
            let third = try await connect(address, on: loop)
            try await third.write([42])
            return (refused, try await third.read(into: &buffer, at: 0))
        }
        #expect(served == (0, 1))
        #expect(admission.tally.withoutDescriptor == 1)
    }
}
