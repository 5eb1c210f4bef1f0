import HTTP
import Sockets
import Synchronization
import Testing

/// Connections between two requests: which of them keep a task, and for how long a first request may take.
@Suite struct WaitingTests {
    private func ask(_ stream: SocketStream, _ path: String) async throws -> String {
        try await stream.write(Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        return try await readResponse(from: stream)
    }

    /// The tasks of two connections with two requests each, in turn: a task that was kept serves both requests.
    @Test(arguments: [(2, 2), (1, 3), (0, 4)]) func waitingTasksAreLimited(waitingTasks: Int, tasks: Int) async throws {
        let arrivals = Mutex(0)
        let configuration = HTTPServerConfiguration {
            $0.timeouts.parkAfter = 30_000
            $0.waitingTasks = waitingTasks
        }
        let answers = try await withServer(
            configuration: configuration, arriving: { arrivals.withLock { $0 += 1 } },
            { peer in
                let streams = [try await peer.connect(), try await peer.connect()]
                var answers: [String] = []
                for number in 0..<2 {
                    for (index, stream) in streams.enumerated() {
                        answers.append(try await ask(stream, "/\(index)\(number)"))
                    }
                }
                for stream in streams { stream.close() }
                return answers
            })
        #expect(arrivals.withLock { $0 } == tasks)
        #expect(answers.count == 4)
        for (answer, path) in zip(answers, ["/00", "/10", "/01", "/11"]) {
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("GET \(path) "))
        }
    }

    @Test func connectionParkedAtOnceIsClosed_WhenItsIdleTimeIsOver() async throws {
        let configuration = HTTPServerConfiguration {
            $0.timeouts.idle = 40
            $0.waitingTasks = 0
        }
        let rest = try await withServer(configuration: configuration) { peer in
            let stream = try await peer.connect()
            #expect(try await ask(stream, "/a").hasPrefix("HTTP/1.1 200 "))
            return await peer.readAll(stream)
        }
        #expect(rest.isEmpty)
    }

    /// The wait for the first byte is part of the time a head may take, not added to it: the connection that came first
    /// ends first, though its first byte came last.
    @Test func slowHeadIsCountedFromTheAccept() async throws {
        let ends = try await withServer(configuration: HTTPServerConfiguration { $0.timeouts.header = 3000 }) { peer in
            let first = try await peer.connect()
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 300))
            let second = try await peer.send("GET / HT")
            _ = await peer.loop.sleep(until: Deadline.now.adding(milliseconds: 100))
            try await first.write(Array("GET / HT".utf8))
            return await withTaskGroup(of: String.self) { tasks in
                for (name, stream) in [("first", first), ("second", second)] {
                    tasks.addTask { "\(name) \(await peer.readAll(stream).prefix(12))" }
                }
                var ends: [String] = []
                for await end in tasks { ends.append(end) }
                return ends
            }
        }
        #expect(ends == ["first HTTP/1.1 408", "second HTTP/1.1 408"])
    }
}
