import Loops
import Sockets
import Synchronization
import Testing

@Suite struct EventLoopTests {
    @Test func taskStaysOnItsLoop_AcrossSuspensionsAndChildren() async throws {
        let strays = try await onLoop { loop, _ -> Int in
            var strays = loop.isOnLoop ? 0 : 1
            await Task.yield()
            strays += loop.isOnLoop ? 0 : 1
            _ = await loop.sleep(until: Deadline.now.adding(milliseconds: 2))
            strays += loop.isOnLoop ? 0 : 1
            async let child = loop.isOnLoop
            strays += await child ? 0 : 1
            return strays
        }
        #expect(strays == 0)
    }

    @Test func operationsOfOtherThreadsRun_EachOnce() async throws {
        let count = 2000
        let ran = Mutex(0)
        try await onLoop(loops: 2) { _, group in
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                let other = group.loops[1]
                for _ in 0..<count {
                    other.spawn {
                        let now = ran.withLock {
                            $0 += 1; return $0
                        }
                        if now == count { done.resume() }
                    }
                }
            }
        }
        #expect(ran.withLock { $0 } == count)
    }

    /// Whoever stops a server drains it and then aborts it; on a busy machine its thread is over before the second.
    @Test func operationsForAStoppedLoopDoNotKeepItAlive() async throws {
        weak var loop: EventLoop?
        do {
            let group = try EventLoopGroup(count: 1)
            loop = group.loops[0]
            try await group.run { loop in
                group.beginDrain()
                await loop.runRoot { $0.close() }
            }
            group.abort()
            group.loops[0].spawn {}
        }
        #expect(loop == nil)
    }

    @Test func sleepersWakeInOrderOfTheirDeadlines() async throws {
        let order = try await onLoop { loop, _ in
            let start = Deadline.now
            return await withTaskGroup(of: Int.self) { tasks in
                for delay in [40, 10, 30, 20, 1] {
                    tasks.addTask {
                        _ = await loop.sleep(until: start.adding(milliseconds: Int64(delay)))
                        return delay
                    }
                }
                var order: [Int] = []
                for await delay in tasks { order.append(delay) }
                return order
            }
        }
        #expect(order == [1, 10, 20, 30, 40])
    }

    @Test func sleepEndsEarly_WhenTheLoopDrains() async throws {
        let completed = Mutex<Bool?>(nil)
        try await onLoop { loop, _ in
            loop.spawn {
                let result = await loop.sleep(until: Deadline.now.adding(milliseconds: 3_600_000))
                completed.withLock { $0 = result }
            }
            await Task.yield()
        }
        #expect(completed.withLock { $0 } == false)
    }

    @Test func idleConnectionEnds_WhenTheLoopDrains_AndTheOneInFlightFinishes() async throws {
        let answer = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                var buffer = [UInt8](repeating: 0, count: 16)
                guard let count = try? await stream.read(into: &buffer, at: 0), count > 0 else { return stream.close() }
                if buffer[0] == UInt8(ascii: "i") {
                    stream.isIdle = true
                    try? await stream.write([UInt8(ascii: "w")])
                    _ = try? await stream.read(into: &buffer, at: 0)  // ends by draining
                } else {
                    try? await stream.write([UInt8(ascii: "w")])
                    _ = try? await stream.read(into: &buffer, at: 0)
                    try? await stream.write(Array("done".utf8))
                }
                stream.close()
            },
            { loop, group in
                let address = try listen(on: loop)
                let idle = try await connect(address, on: loop)
                let busy = try await connect(address, on: loop)
                var buffer = [UInt8](repeating: 0, count: 16)
                try await idle.write([UInt8(ascii: "i")])
                _ = try await idle.read(into: &buffer, at: 0)
                try await busy.write([UInt8(ascii: "b")])
                _ = try await busy.read(into: &buffer, at: 0)
                group.beginDrain()
                let fromIdle = await readAll(idle)
                try await busy.write([1])
                return [fromIdle, await readAll(busy)]
            })
        #expect(answer == [[], Array("done".utf8)])
    }
}
