import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Sockets
import Testing

/// Apple's endpoints slow, silent, huge, wrong, broken or gone: sign-ins fail clearly and recover without a restart;
/// sessions do not notice. The server is the real program, and so are its deadlines.
@Suite struct HostileEndpointTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var behaviour: HostileEndpointFront.Behaviour
        /// Part of the operator's log line when it is the token endpoint's.
        var log: String
        var testDescription: String { name }
    }

    private static let html = "<html><head><title>Apple</title></head><body>Service unavailable</body></html>"

    /// What both endpoints may do, all of it answered at once.
    static let wrong: [Case] = [
        Case(name: "500", behaviour: .answer("500 Internal Server Error", "text/html", html), log: "status 500"),
        Case(name: "HTML with 200", behaviour: .answer("200 OK", "text/html;charset=UTF-8", html), log: "not JSON"),
        Case(
            name: "HTML that says it is JSON", behaviour: .answer("200 OK", "application/json", html), log: "not JSON"),
        Case(
            name: "garbage JSON", behaviour: .answer("200 OK", "application/json", "{\"keys\":[{,\"id_token\":\u{1}"),
            log: "not JSON"),
        Case(name: "an empty object", behaviour: .answer("200 OK", "application/json", "{}"), log: "no id_token"),
        Case(name: "nothing at all", behaviour: .answer("200 OK", "application/json", ""), log: "not JSON"),
        Case(name: "403", behaviour: .answer("403 Forbidden", "text/html", html), log: "status 403"),
        Case(
            name: "a redirect", behaviour: .answer("302 Found", "text/html", "", "Location: /elsewhere\r\n"),
            log: "status 302"),
        Case(name: "429", behaviour: .answer("429 Too Many Requests", "application/json", "{}"), log: "status 429"),
        Case(
            name: "more than a megabyte announced",
            behaviour: .stall(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{"),
            log: "too long"),
        Case(name: "chunks without end", behaviour: .endless, log: "too long"),
        Case(
            name: "a head without end",
            behaviour: .repeating("HTTP/1.1 200 OK\r\n", piece: Array("X-Filler: aaaaaaaaaaaaaaaa\r\n".utf8), pause: 0),
            log: "too long"),
        Case(name: "closed before a byte", behaviour: .bytes(""), log: "closed"),
        Case(name: "closed in the middle", behaviour: .halfOfForward, log: "closed"),
        Case(name: "no HTTP", behaviour: .bytes("SSH-2.0-OpenSSH_9.2\r\n\r\n"), log: "not an HTTP answer: "),
        Case(
            name: "both lengths",
            behaviour: .bytes(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            log: "not an HTTP answer: "),
    ]

    /// One server through all of it: every failure is a 503 page with a reason in the log, the very same form succeeds
    /// when Apple is well again, and a session made before works all along.
    @Test func aWrongTokenEndpointFailsTheSignInAndNothingElse() async throws {
        try await withHostileEndpoint { scene in
            let server = try await scene.place.start(on: scene.group)
            let old = try await server.signIn(try await scene.person("old"), at: scene.simulator, from: "10.1.0.1")
            for (index, test) in Self.wrong.enumerated() {
                let person = try await scene.person("token\(index)")
                let attempt = try await server.begin(from: "10.1.1.\(index)")
                let form = try await scene.simulator.authorize(person, at: attempt.location)
                scene.front.set(test.behaviour, for: "/auth/token")
                let lines = server.process.output.utf8.count
                let start = ContinuousClock.now
                let answer = try await server.callback(attempt, form.body)
                #expect(ContinuousClock.now - start < .seconds(9), "\(test)")
                #expect(answer.status.code == 503, "\(test)")
                #expect(answer.fields[.contentType]?.hasPrefix("text/html") == true, "\(test)")
                #expect(answer.fields[.retryAfter] != nil, "\(test)")
                #expect(answer.cookie(RunningServer.sessionCookie) == nil, "\(test)")
                let log = String(server.process.output.utf8.dropFirst(lines)) ?? ""
                #expect(log.contains("provider_unavailable") && log.contains("token endpoint"), "\(test): \(log)")
                #expect(log.contains(test.log), "\(test): \(log)")
                #expect(try await server.verify(old).status.code == 204, "\(test)")
                scene.front.set(.forward, for: "/auth/token")
                // The exchange of the half-closed answer had been done: that code is used up, the name is not lost.
                let again = try await server.callback(attempt, form.body)
                if case .halfOfForward = test.behaviour {
                    #expect(again.status.code == 400, "\(test)")
                } else {
                    #expect(again.cookie(RunningServer.sessionCookie) != nil, "\(test): \(again.status.code)")
                }
                let token = try await server.signIn(person, at: scene.simulator, from: "10.1.2.\(index)")
                #expect(try await server.name(of: token) == [person.given, person.family], "\(test)")
            }
            #expect(scene.front.count("/elsewhere") == 0, "a redirect was followed")
            await server.stop()
        }
    }

    /// The endpoint that takes the connection and says nothing, stops in the middle, or drips: all at once, against the
    /// real deadline, while others sign in and sessions are asked about.
    @Test func hangingTokenEndpointDelaysNobodyElseAndTimesOut() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
        let behaviours: [HostileEndpointFront.Behaviour] = [
            .stall(""), .stall("HTTP/1.1 200 OK\r\nContent-"), .stall(head),
            .repeating(head, piece: [UInt8(ascii: " ")], pause: 100),
            .repeating("HTTP/1.1 200 OK\r\nX-Slow: ", piece: [UInt8(ascii: "a")], pause: 100),
        ]
        try await withHostileEndpoint { scene in
            let server = try await scene.place.start(on: scene.group)
            let old = try await server.signIn(try await scene.person("old"), at: scene.simulator, from: "10.2.0.1")
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, behaviour) in behaviours.enumerated() {
                    tasks.addTask {
                        let person = try await scene.person("hang\(index)")
                        let attempt = try await server.begin(from: "10.2.1.\(index)")
                        let form = try await scene.simulator.authorize(person, at: attempt.location)
                        scene.front.set(behaviour, forCode: form.code)
                        let start = ContinuousClock.now
                        let answer = try await server.callback(attempt, form.body)
                        let duration = ContinuousClock.now - start
                        #expect(answer.status.code == 503)
                        #expect(duration > .seconds(9) && duration < .seconds(40), "\(duration)")
                    }
                }
                let before = scene.front.count("/auth/token")
                try await eventually("every exchange has begun") {
                    scene.front.count("/auth/token") - before >= behaviours.count - 1
                }
                // A healthy sign-in passes by those that wait.
                let start = ContinuousClock.now
                _ = try await server.signIn(try await scene.person("by"), at: scene.simulator, from: "10.2.2.1")
                #expect(ContinuousClock.now - start < .seconds(9))
                var durations: [Duration] = []
                for _ in 0..<500 {
                    let start = ContinuousClock.now
                    #expect(try await server.verify(old).status.code == 204)
                    durations.append(ContinuousClock.now - start)
                }
                let median = durations.sorted()[durations.count / 2]
                print("/auth/verify while Apple hangs: median \(median)")
                #expect(median < .seconds(1))
                try await tasks.waitForAll()
            }
            let log = server.process.output
            #expect(log.components(separatedBy: "token endpoint: no complete answer in time").count > behaviours.count)
            await server.stop()
        }
    }

    @Test func memoryStaysFlatWhileEveryAnswerIsTooMuch() async throws {
        try await withHostileEndpoint { scene in
            let server = try await scene.place.start(on: scene.group)
            let huge = String(repeating: "a", count: 1_000_000)
            let flood: [HostileEndpointFront.Behaviour] = [
                .endless, .answer("200 OK", "application/json", "{\"filler\":\"\(huge)\"}"),
                .answer("200 OK", "application/json", "{\"filler\":\"" + huge), .answer("500 -", "text/html", huge),
            ]
            func round(_ number: Int) async throws {
                for (index, behaviour) in flood.enumerated() {
                    scene.front.set(behaviour, for: "/auth/token")
                    let attempt = try await server.begin(from: "10.4.\(number).\(index)")
                    let person = TestPerson("ada")
                    let form = try await scene.simulator.authorize(person, at: attempt.location)
                    #expect(try await server.callback(attempt, form.body).status.code == 503)
                }
            }
            for number in 0..<5 { try await round(number) }
            let before = try server.process.memory()
            for number in 5..<35 { try await round(number) }
            let after = try server.process.memory()
            print(
                "memory over 120 answers of a megabyte and more, KiB: anonymous \(before.anonymous) → \(after.anonymous)"
            )
            // One leaked megabyte an answer would be a hundred; allocators keep a few.
            if !isSanitized { #expect(after.anonymous - before.anonymous < 16_384) }
            await server.stop()
        }
    }

    /// Servers that never had keys: 503 and a reason, and a sign-in soon after Apple is well, without a restart.
    @Test func aServerWithoutKeysRecoversWithoutARestart() async throws {
        try await withHostileEndpoint { outer in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, test) in Self.wrong.enumerated() {
                    // A few at a time: each is a process of its own.
                    if index >= 3 { try await tasks.next() }
                    tasks.addTask {
                        try await withHostileEndpoint(simulator: outer.simulator) { scene in
                            try await recoversFromMissingKeys(test, scene, TestPerson("cold\(index)"))
                        }
                    }
                }
                try await tasks.waitForAll()
            }
        }
    }

    private func recoversFromMissingKeys(
        _ test: Case, _ scene: HostileEndpointScene, _ person: TestPerson
    ) async throws {
        scene.front.set(test.behaviour, for: "/auth/keys")
        let server = try await scene.place.start(on: scene.group)
        try await scene.simulator.add(person)
        let attempt = try await server.begin(from: "10.5.0.1")
        let form = try await scene.simulator.authorize(person, at: attempt.location)
        let refused = try await server.callback(attempt, form.body)
        #expect(refused.status.code == 503, "\(test)")
        #expect(refused.fields[.contentType]?.hasPrefix("text/html") == true, "\(test)")
        #expect(server.process.output.contains("keys_unavailable"), "\(test)")
        #expect(server.process.output.contains("Apple's keys unavailable"), "\(test)")
        #expect(scene.front.count("/auth/token") == 0, "a code was sent, the token unverified: \(test)")

        scene.front.set(.forward, for: "/auth/keys")
        var answer = refused
        try await eventually("a sign-in after \(test)") {
            answer = try await server.callback(attempt, form.body)
            return answer.status.code == 303
        }
        #expect(answer.cookie(RunningServer.sessionCookie) != nil, "\(test)")
        #expect(scene.front.count("/elsewhere") == 0, "a redirect was followed")
        #expect(await server.stop() == ChildProcess.Ending(code: 0, wasSignalled: false), "\(test)")
    }

    @Test func hangingKeySetTimesOut() async throws {
        try await withHostileEndpoint { scene in
            scene.front.set(.stall("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), for: "/auth/keys")
            let server = try await scene.place.start(on: scene.group)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for index in 0..<20 {
                    tasks.addTask {
                        let attempt = try await server.begin(from: "10.6.0.\(index)")
                        let person = try await scene.person("keyless\(index)")
                        let form = try await scene.simulator.authorize(person, at: attempt.location)
                        #expect(try await server.callback(attempt, form.body).status.code == 503)
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(ContinuousClock.now - start < .seconds(60))
            #expect(scene.front.count("/auth/keys") <= 2, "twenty waiting sign-ins fetched for themselves")
            scene.front.set(.forward, for: "/auth/keys")
            // A fetch that began before the change may hang until its own deadline first.
            // Each try comes from an address of its own: one address may not sign in that often.
            var tries = 0
            try await eventually(within: .seconds(60), "recovers") {
                tries += 1
                let address = "10.6.\(1 + tries / 250).\(tries % 250)"
                return (try? await server.signIn(TestPerson("ada"), at: scene.simulator, from: address)) != nil
            }
            await server.stop()
        }
    }
}
