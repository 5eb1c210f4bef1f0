import Bramley
import Coding
import Crypto
import Foundation
import HTTP
import RelyingParty
import Sockets
import Synchronization
import Testing

/// The adapter against verifiers that are down, lie, hang and talk too much.
@Suite struct VerifierTransportTests {
    typealias Stage = VerifierStage
    typealias Outcome = Result<VerifierAnswer, VerifierFailure>

    private func verify(
        _ script: Stage.Script, timeout: Int64 = VerifierTransport.timeout
    ) async throws -> (outcome: Outcome, seen: Stage.Seen) {
        let outcome = Mutex<Outcome?>(nil)
        let seen = try await Stage.run(timeout: timeout, script: { _ in script }) { verifier in
            let result: Outcome
            do throws(VerifierFailure) {
                result = .success(try await verifier.verify(username: "ada", password: Stage.password("difference")))
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
        return (try #require(outcome.withLock { $0 }), seen)
    }

    private func failure(_ outcome: Outcome) -> String? {
        if case .failure(let failure) = outcome { failure.detail } else { nil }
    }

    @Test(
        "what counts as an answer",
        arguments: [
            (#"{"result":"failure"}"#, .failure),
            (#"{"result":"failure","externalID":null,"challenge":null,"methods":null}"#, .failure),
            // A name is not told with it, and would not be believed.
            (#"{"result":"failure","externalID":"42"}"#, .failure),
            (#"{"result":"success","externalID":"42"}"#, .success(externalID: "42")),
            (#" {"externalID":"\u00e4 b","more":{"a":[1]},"result":"success"} "#, .success(externalID: "ä b")),
            (
                #"{"result":"twoFactorAuthRequired","challenge":"c-1","methods":["totp","sms"]}"#,
                .twoFactorAuthRequired(challenge: "c-1", methods: ["totp", "sms"])
            ),
            (
                #"{"result":"twoFactorAuthRequired","challenge":"c-1"}"#,
                .twoFactorAuthRequired(challenge: "c-1", methods: [])
            ),
        ] as [(String, VerifierAnswer)])
    func answers(text: String, answer: VerifierAnswer) async throws {
        let (outcome, seen) = try await verify(.answer(Stage.json(text)))
        #expect(outcome == .success(answer))
        #expect(seen.requests.count == 1)
    }

    @Test(
        "lies and nonsense are no answer",
        arguments: [
            ("", "JSON"), ("true", "object"), ("[]", "object"), ("{}", "no result"), (#"{"result":1}"#, "no result"),
            (#"{"result":"Success","externalID":"42"}"#, "unknown result"),
            (#"{"result":"ok"}"#, "unknown result"), (#"{"result":"success "}"#, "unknown result"),
            (#"{"result":"success"}"#, "externalID"), (#"{"result":"success","externalID":null}"#, "externalID"),
            (#"{"result":"success","externalID":""}"#, "externalID"),
            (#"{"result":"success","externalID":42}"#, "externalID is not a string"),
            (#"{"result":"success","externalID":"a\u0000b"}"#, "externalID"),
            (#"{"result":"success","externalID":"\#(String(repeating: "a", count: 256))"}"#, "externalID"),
            (#"{"result":"failure","externalID":["42"]}"#, "externalID is not a string"),
            (#"{"result":"failure","result":"success","externalID":"42"}"#, "JSON"),
            (#"{"result":"success","externalID":"1","external\u0049D":"2"}"#, "JSON"),
            (#"{"result":"success","externalID":"42"}{}"#, "JSON"),
            (#"{"result":"success","externalID":"42""#, "JSON"),
            (#"{"result":"twoFactorAuthRequired"}"#, "challenge"),
            (#"{"result":"twoFactorAuthRequired","challenge":""}"#, "challenge"),
            (#"{"result":"twoFactorAuthRequired","challenge":{}}"#, "challenge is not a string"),
            (
                #"{"result":"twoFactorAuthRequired","challenge":"\#(String(repeating: "c", count: 1_025))"}"#,
                "challenge"
            ),
            (#"{"result":"twoFactorAuthRequired","challenge":"c","methods":"totp"}"#, "methods"),
            (#"{"result":"twoFactorAuthRequired","challenge":"c","methods":["totp",1]}"#, "methods"),
            (#"{"result":"twoFactorAuthRequired","challenge":"c","methods":[""]}"#, "methods"),
            (
                #"{"result":"twoFactorAuthRequired","challenge":"c","methods":["1","2","3","4","5","6","7","8","9"]}"#,
                "methods"
            ),
            (String(repeating: "[", count: 200), "JSON"),
        ])
    func refusesLies(text: String, word: String) async throws {
        let (outcome, _) = try await verify(.answer(Stage.json(text)))
        let detail = try #require(failure(outcome))
        #expect(detail.contains(word))
    }

    private static let good = #"{"result":"success","externalID":"42"}"#

    @Test(
        "everything but status 200 with JSON is no answer",
        arguments: [
            ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "status 500"),
            (
                "HTTP/1.1 401 No\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"result\":\"failure\"}",
                "401"
            ),
            ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "status 404"),
            ("HTTP/1.1 204 Done\r\n\r\n", "status 204"),
            ("HTTP/1.1 201 Made\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n\(good)", "status 201"),
            ("HTTP/1.1 307 There\r\nLocation: /verifier\r\nContent-Length: 0\r\n\r\n", "a redirect, status 307"),
            (Stage.json(good, type: ""), "Content-Type"),
            (Stage.json(good, type: "Content-Type: text/html\r\n"), "Content-Type"),
            (Stage.json(good, type: "Content-Type: application/json\r\nContent-Type: text/html\r\n"), "Content-Type"),
            ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16385\r\n\r\n", "too long"),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\n"
                    + String(repeating: " ", count: 0x5000) + "\r\n0\r\n\r\n", "too long"
            ),
            ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n", "too long"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "no HTTP answer"),
            ("SSH-2.0-OpenSSH_9.9\r\n\r\n", "no HTTP answer"),
            ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n{\"result\":", "closed"),
            ("", "closed"),
        ])
    func refusesOtherAnswers(response: String, word: String) async throws {
        let (outcome, seen) = try await verify(.close(response))
        let detail = try #require(failure(outcome))
        #expect(detail.contains(word))
        // Not asked again by itself, and no redirect followed.
        #expect(seen.requests.count == 1)
    }

    @Test func acceptsParametersOfTheMediaType() async throws {
        let type = "Content-Type: Application/JSON; charset=utf-8\r\n"
        let (outcome, _) = try await verify(.answer(Stage.json(Self.good, type: type)))
        #expect(outcome == .success(.success(externalID: "42")))
    }

    @Test(
        "one that hangs or drips is given up",
        arguments: [
            .silence, .drip("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"),
            .drip("HTTP/1.1 200 OK\r\nX: "),
        ] as [Stage.Script])
    func givesUp(script: Stage.Script) async throws {
        let (outcome, seen) = try await verify(script, timeout: 300)
        #expect(failure(outcome) == "timeout")
        #expect(seen.requests.count == 1)
    }

    @Test func nobodyThere() async throws {
        let group = try EventLoopGroup(count: 1)
        let client = HTTPClient(group: group, tls: try TLSContext.client(), userAgent: "test")
        let secrets = try WebhookSecrets(parsing: Stage.secret)
        // Bound, and not listening for anybody.
        let sockets = try BoundSockets(address: SocketAddress(ip: .v4(0x7F00_0001), port: 0), count: 1)
        let port = sockets.address.port
        let details = Mutex<[String]>([])
        try await group.run { _ in
            for host in ["nobody.invalid", "127.0.0.1"] {
                let verifier = VerifierTransport(
                    url: ClientURL(isSecure: host == "127.0.0.1", host: host, port: port, target: "/"),
                    transport: client, secrets: { secrets }, clock: Stage.StillClock(), random: SystemRandom(),
                    timeout: host == "127.0.0.1" ? 300 : 10_000)
                do throws(VerifierFailure) {
                    _ = try await verifier.secondFactor(challenge: "c", code: "1")
                } catch {
                    details.withLock { $0.append(error.detail) }
                }
            }
            group.beginDrain()
            group.abort()
        }
        withExtendedLifetime(sockets) {}
        #expect(details.withLock { $0.count } == 2)
        #expect(details.withLock { $0.first } == "the name does not resolve")
    }

    /// A response nobody asked for is never the answer to the next question: that one may be another person's.
    @Test func anAnswerTooManyIsNobodys() async throws {
        let outcomes = Mutex<[VerifierAnswer]>([])
        let seen = try await Stage.run(
            script: { number in
                .twice(
                    Stage.json(#"{"result":"success","externalID":"\#(number)"}"#),
                    Stage.json(#"{"result":"success","externalID":"stale"}"#))
            },
            { verifier in
                for _ in 0..<3 {
                    guard let answer = try? await verifier.verify(username: "a", password: Stage.password("b")) else {
                        continue
                    }
                    outcomes.withLock { $0.append(answer) }
                }
            })
        #expect(outcomes.withLock { $0 } == ["0", "1", "2"].map { .success(externalID: $0) })
        #expect(seen.connections == 3)
    }

    @Test(
        "convert goes by the status alone",
        arguments: [
            ("HTTP/1.1 204 Done\r\n\r\n", .success(.converted)),
            ("HTTP/1.1 409 No\r\nContent-Length: 0\r\n\r\n", .success(.refused)),
            (
                "HTTP/1.1 409 No\r\nContent-Length: 99999\r\n\r\n" + String(repeating: "x", count: 40_000),
                .success(.refused)
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .failure(.unavailable("status 200"))),
            ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", .failure(.unavailable("status 404"))),
            ("HTTP/1.1 410 No\r\nContent-Length: 0\r\n\r\n", .failure(.unavailable("status 410"))),
            ("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", .failure(.unavailable("status 503"))),
            (
                "HTTP/1.1 302 There\r\nLocation: /verifier\r\nContent-Length: 0\r\n\r\n",
                .failure(.unavailable("a redirect, status 302"))
            ),
            ("", .failure(.unavailable("closed before the answer was whole"))),
        ] as [(String, Result<ConversionAnswer, VerifierFailure>)])
    func converts(response: String, expected: Result<ConversionAnswer, VerifierFailure>) async throws {
        let outcome = Mutex<Result<ConversionAnswer, VerifierFailure>?>(nil)
        let conversion = Conversion(
            attemptID: LinkKey(unchecked: "upg_00000000000000000000000000"), kind: .upgrade, externalID: "a\"b<ä",
            userID: UserID(unchecked: "usr_00000000000000000000000000"))
        let seen = try await Stage.run(script: { _ in .close(response) }) { verifier in
            let result: Result<ConversionAnswer, VerifierFailure>
            do throws(VerifierFailure) {
                result = .success(try await verifier.convert(conversion))
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
        #expect(outcome.withLock { $0 } == expected)
        let (head, body) = try Self.split(try #require(seen.requests.first))
        // The same id for every try: the application knows it again by it.
        #expect(head["webhook-id"] == "upg_00000000000000000000000000")
        #expect(
            body as? [String: String] == [
                "action": "convert", "attemptID": "upg_00000000000000000000000000", "kind": "upgrade",
                "externalID": "a\"b<ä", "userID": "usr_00000000000000000000000000",
            ])
    }

    // MARK: What is asked

    private static func split(_ request: String) throws -> (head: [String: String], body: Any) {
        let end = try #require(request.firstRange(of: "\r\n\r\n"))
        var head: [String: String] = [:]
        for line in request[..<end.lowerBound].components(separatedBy: "\r\n").dropFirst() {
            let colon = try #require(line.firstIndex(of: ":"))
            let name = line[..<colon].lowercased()
            #expect(head[name] == nil, "\(name) comes twice")
            head[name] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return (head, try JSONSerialization.jsonObject(with: Data(request[end.upperBound...].utf8)))
    }

    @Test(
        "passwords arrive as they were typed",
        arguments: [
            "difference", #"quote " and \ backslash"#, "\u{0}\u{1}\n\t\u{1F}\u{7F}", "пароль 🔑 ﷽", "</script>&", " ",
            "%20+&=", String(repeating: "\u{1}", count: 1_024), String(repeating: "ä", count: 512),
        ])
    func passwordsArrive(text: String) async throws {
        let seen = try await Stage.run(script: { _ in .answer(Stage.json(#"{"result":"failure"}"#)) }) { verifier in
            _ = try? await verifier.verify(username: "ada \"<ä", password: Stage.password(text))
        }
        let (head, body) = try Self.split(try #require(seen.requests.first))
        #expect(body as? [String: String] == ["action": "verify", "username": "ada \"<ä", "password": text])
        #expect(seen.requests[0].hasPrefix("POST /verifier HTTP/1.1\r\n"))
        #expect(head["content-type"] == "application/json" && head["connection"] == "close")
        #expect(head["webhook-timestamp"] == "1760000000")
        #expect(head["user-agent"] == "Bramley/test")
        let id = try #require(head["webhook-id"])
        #expect(id.hasPrefix("msg_") && id.utf8.count == 30)
        let end = try #require(seen.requests[0].firstRange(of: "\r\n\r\n"))
        let content = Array(seen.requests[0][end.upperBound...].utf8)
        // The variant for contents in the open is held against published vectors and another implementation.
        let secret = try WebhookSecret(parsing: Stage.secret)
        #expect(head["webhook-signature"] == secret.signature(id: id, timestamp: 1_760_000_000, body: content))
    }

    @Test func eachQuestionHasAnIdOfItsOwn() async throws {
        let seen = try await Stage.run(script: { _ in .answer(Stage.json(#"{"result":"failure"}"#)) }) { verifier in
            for _ in 0..<2 { _ = try? await verifier.verify(username: "a", password: Stage.password("b")) }
            _ = try? await verifier.secondFactor(challenge: "c", code: "123 456")
        }
        let ids = try seen.requests.map { try #require(try Self.split($0).head["webhook-id"]) }
        #expect(Set(ids).count == 3)
        let (_, body) = try Self.split(seen.requests[2])
        #expect(body as? [String: String] == ["action": "secondFactor", "challenge": "c", "code": "123 456"])
    }

    /// No such password can be written in JSON: nobody has it, and nobody is asked.
    @Test(arguments: [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
    func whatIsNoTextIsNobodysPassword(bytes: [UInt8]) async throws {
        let answer = Mutex<VerifierAnswer?>(nil)
        let seen = try await Stage.run(script: { _ in .silence }) { verifier in
            var bytes = bytes
            let found = try? await verifier.verify(username: "a", password: Password(consuming: &bytes))
            answer.withLock { $0 = found }
        }
        #expect(answer.withLock { $0 } == .failure)
        #expect(seen.connections == 0)
    }
}
