import AppleID
import Coding
import HTTP
import HTTPTypes
import Testing

@testable import Accounts

/// `/auth/usermigrationinfo`, asked as either team.
struct TeamMigrationTests {
    private static let path = "/auth/usermigrationinfo"
    private let apple: Apple
    private let client = ClientID(Apple.servicesID)

    init() throws {
        apple = try Apple()
        apple.transport.answer("/auth/token", #"{"access_token":"a.1","token_type":"Bearer","expires_in":3600}"#)
    }

    private func export() async -> Result<TransferSubject, MigrationFailure> {
        do throws(MigrationFailure) {
            return .success(
                try await apple.provider.transferSubject(
                    of: AppleSubject("001.ann"), to: TeamID("TEAM654321"), as: client))
        } catch {
            return .failure(error)
        }
    }

    private func redeem() async -> Result<TransferredIdentity, MigrationFailure> {
        do throws(MigrationFailure) {
            return .success(try await apple.provider.identity(of: TransferSubject("t.ann"), as: client))
        } catch {
            return .failure(error)
        }
    }

    private func fields(_ request: ClientRequest?) throws -> [String: String] {
        let form = try FormDecoder.parse(try #require(request).body)
        #expect(Set(form.map(\.name)).count == form.count)
        return Dictionary(uniqueKeysWithValues: form.map { ($0.name, $0.value) })
    }

    @Test func theSendingTeamAsks() async throws {
        apple.transport.answer(Self.path, #"{"transfer_sub":"t.ann"}"#)
        #expect(await export() == .success(TransferSubject("t.ann")))
        let token = try fields(apple.transport.requests(to: "/auth/token").first)
        #expect(token["grant_type"] == "client_credentials" && token["scope"] == "user.migration")
        #expect(token["client_id"] == Apple.servicesID && token["client_secret"] != nil && token.count == 4)
        let request = try #require(apple.transport.requests(to: Self.path).first)
        #expect(request.method == .post && request.fields[.authorization] == "Bearer a.1")
        let form = try fields(request)
        #expect(form["sub"] == "001.ann" && form["target"] == "TEAM654321" && form.count == 4)
        #expect(form["client_id"] == Apple.servicesID && form["client_secret"] != nil)
        #expect(apple.transport.requests(to: "/auth/token").allSatisfy { $0.fields[.authorization] == nil })
    }

    @Test(
        "the relay address, and no other",
        arguments: [
            (#""email":"a@privaterelay.example","is_private_email":true"#, "a@privaterelay.example"),
            (#""email":"a@privaterelay.example","is_private_email":"true""#, "a@privaterelay.example"),
            (#""email":"a@example.com","is_private_email":false"#, nil), (#""email":"a@example.com""#, nil),
            (#""email":"a@b@c","is_private_email":true"#, nil), (#""email":7,"is_private_email":true"#, nil),
            (#""email":"a\u0000@example.com","is_private_email":true"#, nil), (#""is_private_email":true"#, nil),
        ] as [(String, String?)])
    func theReceivingTeamAsks(members: String, address: String?) async throws {
        apple.transport.answer(Self.path, "{\"sub\":\"002.ann\",\(members)}")
        let email = address.map { EmailAddress(address: $0, isVerified: true, isPrivate: true) }
        #expect(await redeem() == .success(TransferredIdentity(subject: AppleSubject("002.ann"), email: email)))
        let form = try fields(apple.transport.requests(to: Self.path).first)
        #expect(form["transfer_sub"] == "t.ann" && form["sub"] == nil && form["target"] == nil && form.count == 3)
    }

    enum Kind { case person, client, unavailable }

    @Test(
        arguments: [
            (400, #"{"error":"invalid_request"}"#, .person), (400, #"{"error":"invalid_grant"}"#, .person),
            (400, #"{"error":"invalid_client"}"#, .client), (401, #"{"error":"invalid_token"}"#, .client),
            (401, "", .client), (403, #"{"error":"unauthorized_client"}"#, .client),
            (400, #"{"error":"invalid_scope"}"#, .client), (400, #"{"error":"something_new"}"#, .unavailable),
            (400, "<html>", .unavailable), (400, #"{"error":""}"#, .unavailable), (400, "{}", .unavailable),
            (404, #"{"error":"invalid_request"}"#, .unavailable), (429, #"{"error":"invalid_request"}"#, .unavailable),
            (500, #"{"error":"invalid_request"}"#, .unavailable), (302, "", .unavailable),
            (200, "<html>", .unavailable), (200, "{}", .unavailable), (200, #"{"transfer_sub":""}"#, .unavailable),
            (200, #"{"transfer_sub":7}"#, .unavailable), (200, #"{"sub":"x"}"#, .unavailable), (204, "", .unavailable),
        ] as [(Int, String, Kind)])
    func refusals(status: Int, body: String, kind: Kind) async throws {
        apple.transport.answer(Self.path, status: status, body)
        guard case .failure(let failure) = await export() else { return #expect(Bool(false), "it was taken") }
        switch failure {
        case .personRefused: #expect(kind == .person, "\(failure)")
        case .clientRefused: #expect(kind == .client, "\(failure)")
        case .unavailable: #expect(kind == .unavailable, "\(failure)")
        }
        // A refusal of ours is tried with one new token, and no more; nothing else is sent again.
        let isRetried = kind == .client
        #expect(apple.transport.requests(to: Self.path).count >= (isRetried ? 2 : 1))
        #expect(apple.transport.requests(to: "/auth/token").count == (isRetried ? 2 : 1))
    }

    @Test(
        arguments: [
            ("7", 7), ("0", 0), ("-1", nil), ("", nil), (HTTPDate.format(TestClock.start.seconds + 60), 60),
            ("99999999999999999999", 1_000_000_000),
        ] as [(String, Int64?)])
    func retryAfter(text: String, seconds: Int64?) async throws {
        let fields: HTTPFields = [.retryAfter: text]
        apple.transport.answer(Self.path, with: .success(ClientResponse(status: .init(code: 429), fields: fields)))
        #expect(await export() == .failure(.unavailable("status 429", retryAfter: seconds)))
    }

    @Test func theTokenIsKeptForItsTime() async throws {
        apple.transport.answer(Self.path, #"{"transfer_sub":"t.ann"}"#)
        for _ in 0..<3 { _ = await export() }
        #expect(apple.transport.requests(to: "/auth/token").count == 1)
        apple.clock.advance(seconds: 2999)
        _ = await export()
        #expect(apple.transport.requests(to: "/auth/token").count == 1)
        apple.clock.advance(seconds: 1)
        _ = await export()
        #expect(apple.transport.requests(to: "/auth/token").count == 2)
        // A clock that was set back.
        apple.clock.advance(seconds: -7200)
        _ = await export()
        #expect(apple.transport.requests(to: "/auth/token").count == 3)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_client"}"#, true), (400, #"{"error":"invalid_request"}"#, true),
        (500, "", false), (200, "{}", false), (200, #"{"access_token":"a b"}"#, false), (200, "<html>", false),
    ])
    func preparation(status: Int, body: String, isRefusal: Bool) async throws {
        apple.transport.answer("/auth/token", status: status, body)
        do throws(MigrationFailure) {
            try await apple.provider.prepareTransfer(as: client)
            Issue.record("it was taken")
        } catch {
            if case .clientRefused = error { #expect(isRefusal) } else { #expect(!isRefusal, "\(error)") }
        }
        #expect(apple.transport.requests(to: Self.path).isEmpty)
    }
}
