import AppleID
import Coding
import HTTP
import HTTPTypes
import Testing

@testable import Accounts

struct TokenRevocationTests {
    private let apple: Apple

    init() throws { apple = try Apple() }

    private func failure(clientID: String = Apple.servicesID) async -> TokenFailure? {
        do throws(TokenFailure) {
            try await apple.provider.revoke(RefreshToken("r3fresh"), clientID: ClientID(clientID))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "sends exactly what Apple expects, as the client the token belongs to",
        arguments: [
            Apple.servicesID, Apple.bundleID,
        ])
    func request(_ clientID: String) async throws {
        apple.transport.answer("/auth/revoke", type: nil, "")
        #expect(await failure(clientID: clientID) == nil)
        let requests = apple.transport.requests(to: "/auth/revoke")
        #expect(requests.count == 1)
        let request = try #require(requests.first)
        #expect(request.method == .post)
        #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.fields[.userAgent]?.isEmpty == false)
        let fields = try FormDecoder.parse(request.body)
        #expect(fields.map(\.name) == ["client_id", "client_secret", "token", "token_type_hint"])
        #expect(fields[0].value == clientID)
        #expect(fields[1].value.split(separator: ".").count == 3)
        #expect(fields[2].value == "r3fresh")
        #expect(fields[3].value == "refresh_token")
    }

    @Test(
        "200 is final, whatever the type of its empty content",
        arguments: [
            (nil, ""), ("application/json", ""), ("text/html", ""), ("application/json", "{}"),
        ] as [(String?, String)])
    func done(type: String?, body: String) async {
        apple.transport.answer("/auth/revoke", type: type, body)
        #expect(await failure() == nil)
    }

    @Test(
        "Apple refuses us: for the operator",
        arguments: [
            "invalid_client", "invalid_request", "unauthorized_client", "unsupported_token_type",
        ])
    func refused(_ error: String) async {
        apple.transport.answer("/auth/revoke", status: 400, #"{"error":"\#(error)","error_description":"why\u0007"}"#)
        #expect(await failure() == .clientRefused("\(error): why"))
    }

    @Test(
        "an unclear answer is tried again",
        arguments: [
            (200, "text/html", "<html>Sign in to the Wi-Fi</html>"), (200, "text/html", "{}"), (204, nil, ""),
            (200, "application/json", #"{"cut":"#), (200, "application/json", "{}{}"),
            (200, "application/json", #"{"error":"server_error"}"#),
            (301, nil, ""), (400, "text/html", "<html>"), (400, "application/json", "{}"),
            (400, "application/json", "{"),
            (400, "application/json", #"{"error":7}"#), (404, "application/json", #"{"error":"invalid_client"}"#),
            (429, "application/json", #"{"error":"invalid_client"}"#), (500, nil, ""), (503, "text/html", "<html>"),
        ] as [(Int, String?, String)])
    func unavailable(status: Int, type: String?, body: String) async {
        apple.transport.answer("/auth/revoke", status: status, type: type, body)
        let failure = await failure()
        #expect(failure?.reason == "provider_unavailable")
        #expect(failure?.detail.contains("<") == false && failure?.detail.contains("r3fresh") == false)
    }

    @Test func brokenConnectionIsRetried() async {
        apple.transport.answer("/auth/revoke", with: .failure(.closed))
        #expect(await failure()?.reason == "provider_unavailable")
    }
}
