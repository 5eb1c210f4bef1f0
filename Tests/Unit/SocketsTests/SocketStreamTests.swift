import Loops
import Sockets
import Synchronization
import Testing

@Suite struct SocketStreamTests {
    @Test func everyByteComesBack_WhenMoreIsSentThanTheKernelBuffers() async throws {
        // 8 MiB each way: writes are partial, both sides wait in turn.
        let sent = (0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) }
        let received = try await onLoop(serving: echo) { loop, _ in
            let stream = try await connect(try listen(on: loop), on: loop)
            async let reading = readAll(stream)
            try await writeInPieces(sent, to: stream)
            stream.shutdownWrite()
            return await reading
        }
        #expect(received.count == sent.count)
        #expect(received == sent)
    }

    @Test func answerArrives_AfterTheClientHalfClosed() async throws {
        let answer = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                let request = await readAll(stream)
                try? await stream.write(Array("got \(request.count)".utf8))
                stream.close()
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop), on: loop)
                try await stream.write(Array("hello".utf8))
                stream.shutdownWrite()
                return await readAll(stream)
            })
        #expect(String(decoding: answer, as: UTF8.self) == "got 5")
    }

    @Test func readFailsWithDeadline_WhenThePeerIsSilent() async throws {
        let failure = try await onLoop(serving: { _ = await readAll($0) }) { loop, _ -> StreamError? in
            let stream = try await connect(try listen(on: loop), on: loop)
            stream.setDeadline(Deadline.now.adding(milliseconds: 30))
            return await failureOfReading(stream)
        }
        #expect(failure == .deadline)
    }

    @Test func writeFailsWithDeadline_WhenThePeerDoesNotRead() async throws {
        let failure = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                _ = try? await stream.waitUntilReadable()
                _ = await stream.loop.sleep(until: Deadline.now.adding(milliseconds: 4000))
                stream.close()
            },
            { loop, _ -> StreamError? in
                let stream = try await connect(try listen(on: loop), on: loop)
                stream.setDeadline(Deadline.now.adding(milliseconds: 50))
                do throws(StreamError) {
                    try await stream.write([UInt8](repeating: 1, count: 64 << 20))
                    return nil
                } catch {
                    return error
                }
            })
        #expect(failure == .deadline)
    }

    @Test func waiterIsResumed_WhenTheStreamIsClosedUnderIt() async throws {
        let failure = try await onLoop(serving: { _ = await readAll($0) }) { loop, _ -> StreamError? in
            let stream = try await connect(try listen(on: loop), on: loop)
            loop.spawn { stream.close() }
            return await failureOfReading(stream)
        }
        #expect(failure == .aborted)
    }

    @Test func connectFails_WhenNobodyListens() async throws {
        let failed = try await onLoop { loop, _ -> Bool in
            let free = try BoundSockets.local().address
            do {
                _ = try await connect(free, on: loop)
                return false
            } catch {
                return true
            }
        }
        #expect(failed)
    }

    @Test func secondAddressIsUsed_WhenTheFirstRefuses() async throws {
        let answer = try await onLoop(serving: echo) { loop, _ in
            let dead = try BoundSockets.local().address
            let live = try listen(on: loop)
            let stream = try await SocketStream.connect(
                to: [dead, live], on: loop, deadline: Deadline.now.adding(milliseconds: 120_000))
            stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
            try await stream.write([1, 2, 3])
            stream.shutdownWrite()
            return await readAll(stream)
        }
        #expect(answer == [1, 2, 3])
    }

    @Test func parkedConnectionIsServedAnew_WhenBytesArrive() async throws {
        let arrivals = Mutex(0)
        let answer = try await onLoop(
            serving: { stream in
                let number = arrivals.withLock {
                    $0 += 1; return $0
                }
                stream.setDeadline(Deadline.now.adding(milliseconds: 120_000))
                if number == 1 {
                    var buffer = [UInt8](repeating: 0, count: 1)
                    _ = try? stream.tryReading(into: &buffer, at: 0)
                    try? await stream.write([UInt8(ascii: "p")])
                    stream.park()
                } else {
                    await echo(stream)
                }
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop), on: loop)
                var buffer = [UInt8](repeating: 0, count: 1)
                _ = try await stream.read(into: &buffer, at: 0)
                try await stream.write([7])
                stream.shutdownWrite()
                return buffer + (await readAll(stream))
            })
        #expect(answer == [UInt8(ascii: "p"), 7])
        #expect(arrivals.withLock { $0 } == 2)
    }

    @Test func parkedConnectionIsClosed_AtItsDeadline() async throws {
        let answer = try await onLoop(
            serving: { stream in
                var buffer = [UInt8](repeating: 0, count: 1)
                _ = try? stream.tryReading(into: &buffer, at: 0)
                stream.setDeadline(Deadline.now.adding(milliseconds: 30))
                stream.park()
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop), on: loop)
                return await readAll(stream)
            })
        #expect(answer.isEmpty)
    }
}

/// Nil when bytes or the end came.
private func failureOfReading(_ stream: SocketStream) async -> StreamError? {
    var buffer = [UInt8](repeating: 0, count: 16)
    do throws(StreamError) {
        _ = try await stream.read(into: &buffer, at: 0)
        return nil
    } catch {
        return error
    }
}

private func writeInPieces(_ bytes: [UInt8], to stream: SocketStream) async throws {
    var offset = 0
    while offset < bytes.count {
        let end = min(offset + 100_003, bytes.count)
        try await stream.write(Array(bytes[offset..<end]))
        offset = end
    }
}
