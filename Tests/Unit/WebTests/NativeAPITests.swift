import Coding
import HTTP
import HTTPTypes
import Sockets
import Storage
import Stores
import Synchronization
import Testing
import Web

@testable import Accounts

/// The routes for apps. What is a good token is FakeApple's to say, and it says so of every one.
@Suite struct NativeAPITests {
    private func site(
        signUp: SignUpPolicy = .open, _ adjust: (inout WebConfiguration) -> Void = { _ in }
    ) throws -> Site {
        try Site(
            signUp: signUp,
            adjust: {
                $0.apple.bundleIDs = ["com.example.app", "com.example.other"]
                adjust(&$0)
            })
    }

    private let json: HTTPFields = [.contentType: "application/json"]

    private func nonce(_ site: Site) async -> String {
        await site.send(.post, "/api/v1/native/challenge").json?["nonce"]?.stringValue ?? ""
    }

    private func body(_ nonce: String, _ more: String = "") -> String {
        #"{"identityToken":"t","authorizationCode":"c","nonce":"\#(nonce)"\#(more)}"#
    }

    private func signIn(_ site: Site) async throws -> HTTPFields {
        let response = await site.send(.post, "/api/v1/native/sessions", json, body: body(await nonce(site)))
        return site.bearer(try #require(response.json?["token"]?.stringValue))
    }

    @Test("A challenge is a nonce and its expiry, and is not stored", arguments: ["", "{}"])
    func challenge(content: String) async throws {
        let site = try site()
        let response = await site.send(
            .post, "/api/v1/native/challenge", content.isEmpty ? HTTPFields() : json, body: content)
        #expect(response.status == .ok)
        let members = try #require(response.json).members
        #expect(members.map(\.name) == ["nonce", "expiresAt"])
        #expect(members[1].value == .string("2026-09-21T14:23:20.000Z"))
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test("Members are accepted at their limit and refused one byte past it")
    func sizes() async throws {
        let site = try site { $0.limits.callbackBody = 32_768 }
        func send(token: Int = 1, code: Int = 1, nonce: Int = 1, pad: Int = 0) async -> String? {
            func text(_ count: Int) -> String { String(repeating: "x", count: count) }
            let content =
                #"{"identityToken":"\#(text(token))","authorizationCode":"\#(text(code))","nonce":"\#(text(nonce))"}"#
            return await site.send(
                .post, "/api/v1/native/sessions", json, body: content + String(repeating: " ", count: pad)
            ).code
        }
        #expect(await send(token: 16_384, code: 4_096, nonce: 256) == "invalid_nonce")
        #expect(await send(token: 16_385) == "invalid_request")
        #expect(await send(code: 4_097) == "invalid_request")
        #expect(await send(nonce: 257) == "invalid_request")
        let empty = #"{"identityToken":"x","authorizationCode":"x","nonce":"x"}"#.utf8.count
        #expect(await send(pad: 32_768 - empty) == "invalid_nonce")
        #expect(await send(pad: 32_769 - empty) == "content_too_large")
        let challenge = await site.send(
            .post, "/api/v1/native/challenge", json, body: "{}" + String(repeating: " ", count: 16_383))
        #expect(challenge.code == "content_too_large")
    }

    @Test("Failures have their codes; temporary ones are 503 with Retry-After")
    func failures() async throws {
        for (failure, status, code) in [
            (Failure(.codeRefused, "invalid_grant"), 400, "code_refused"),
            (Failure(.clientRefused, "invalid_client"), 400, "client_refused"),
            (Failure(.providerUnavailable, "503"), 503, "provider_unavailable"),
            (Failure(.providerUnavailable, "x", mayHaveSpentCode: true), 503, "provider_unavailable"),
            (Failure(.keysUnavailable, "x"), 503, "keys_unavailable"),
            (Failure(.tokenMismatch, "sub"), 400, "token_mismatch"),
            (Failure(.clock, "iat"), 400, "clock"), (Failure(.revoked), 400, "revoked"),
        ] {
            let site = try site()
            site.apple.exchangeFailure.withLock { $0 = failure }
            let response = await site.send(
                .post, "/api/v1/native/sessions", json, body: body(await nonce(site)))
            #expect(response.status.code == status)
            #expect(response.code == code)
            #expect((response.fields[.retryAfter] != nil) == (status == 503))
            #expect(site.database.users.isEmpty)
        }
    }

    @Test(
        "People who may not sign in are told why",
        arguments: [
            (SignUpPolicy.approval, nil, "user_pending"), (.open, .pending, "user_pending"),
            (.open, .disabled, "user_disabled"), (.closed, nil, "sign_up_closed"),
        ] as [(SignUpPolicy, User.State?, String)])
    func notAdmitted(policy: SignUpPolicy, known: User.State?, code: String) async throws {
        let site = try site(signUp: policy)
        if let known { site.signIn(state: known) }
        let response = await site.send(.post, "/api/v1/native/sessions", json, body: body(await nonce(site)))
        #expect(response.code == code)
        #expect(response.status == .forbidden)
    }

    @Test("Without bundle IDs there is nothing for apps")
    func notConfigured() async throws {
        let site = try Site()
        for (method, path) in [
            (HTTPRequest.Method.post, "/api/v1/native/challenge"), (.post, "/api/v1/native/sessions"),
            (.get, "/.well-known/apple-app-site-association"),
        ] {
            let response = await site.send(method, path, json)
            #expect(response.status == .notFound)
            #expect(response.code == "native_not_configured")
        }
    }

    @Test("Challenges, sessions and deletions with a code share the sign-ins' limit for each address")
    func limits() async throws {
        let site = try site { $0.limits.signInsPerMinute = 4 }
        let bearer = try await signIn(site)
        #expect(await site.send(.post, "/api/v1/native/challenge").status == .ok)
        var fields = bearer
        fields[.contentType] = "application/json"
        let foreign = #"{"authorizationCode":"others"}"#
        #expect(await site.send(.delete, "/api/v1/account", fields, body: foreign).code == "token_mismatch")
        for (method, path, fields, body) in [
            (HTTPRequest.Method.post, "/api/v1/native/challenge", json, ""),
            (.post, "/api/v1/native/sessions", json, ""), (.delete, "/api/v1/account", fields, foreign),
        ] {
            // One more becomes free every 15 seconds, which a slow machine may take: the next one is refused.
            var responses: [ServerResponse] = []
            while responses.last?.status != .tooManyRequests, responses.count < 4 {
                responses.append(await site.send(method, path, fields, body: body))
            }
            #expect(responses.last?.status == .tooManyRequests && responses.last?.fields[.retryAfter] != nil)
        }
        // Another address, and what costs Apple nothing, go on.
        #expect(await site.send(.post, "/api/v1/native/challenge", client: .v4(0x0A00_0002)).status == .ok)
        #expect(await site.send(.delete, "/api/v1/account", bearer).status == .accepted)
    }

    @Test("Apple down, or a refused code: nothing changes")
    func deletionFailures() async throws {
        let site = try site()
        var fields = try await signIn(site)
        fields[.contentType] = "application/json"
        for (failure, code) in [
            (Failure(.codeRefused, "invalid_grant"), "code_refused"),
            (Failure(.providerUnavailable, "x"), "provider_unavailable"),
        ] {
            site.apple.exchangeFailure.withLock { $0 = failure }
            let content = #"{"authorizationCode":"\#(code)"}"#
            #expect(await site.send(.delete, "/api/v1/account", fields, body: content).code == code)
            #expect(site.database.users.count == 1)
        }
    }

    @Test("A browser's session does not accept a code")
    func browserSession() async throws {
        let site = try site()
        site.signIn()
        let fields: HTTPFields = [
            .cookie: site.cookie, .secFetchSite: "same-origin", .contentType: "application/json",
        ]
        let response = await site.send(.delete, "/api/v1/account", fields, body: #"{"authorizationCode":"c"}"#)
        #expect(response.code == "invalid_request")
        #expect(site.database.users.count == 1)
    }
}
