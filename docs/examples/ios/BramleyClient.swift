import Foundation

#if canImport(FoundationNetworking)
    // URLSession has its own module outside of Apple's platforms.
    import FoundationNetworking
#endif

/// The server's nonce for one request to Apple.
struct Challenge: Decodable, Sendable {
    let nonce: String
}

/// A sign-in for the server: Apple's answer and its challenge.
struct SignInRequest: Codable, Sendable {
    struct Name: Codable, Sendable {
        var givenName: String?
        var familyName: String?
    }

    var identityToken: String
    var authorizationCode: String
    var nonce: String
    /// Apple gives it only once: always send it when you have it.
    var user: Name?

    /// The same bytes for the same request, so that the server recognises a retry.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }
}

/// The signed-in person.
struct Account: Codable, Sendable {
    struct Name: Codable, Sendable {
        var given: String?
        var family: String?
    }

    /// The server's id of the person. Store this one.
    var id: String
    /// Apple's id, for `credentialState(forUserID:)`.
    var appleSubject: String
    var email: String?
    var name: Name
    /// `authorized`, `revoked`, `notFound` or `transferred`.
    var credentialState: String
}

/// A completed sign-in. Treat `token` as a password: it belongs in the Keychain and in `Authorization`, nowhere else.
struct SignedIn: Codable, Sendable {
    var token: String
    var user: Account
}

/// The server's refusal (RFC 9457).
struct Problem: Error, Decodable, Sendable {
    var status: Int
    /// Stable; docs/reference/failures.md lists all codes.
    var code: String
    var detail: String?

    /// The same request may work in a moment.
    var isTemporary: Bool { [429, 502, 503].contains(status) }
}

/// Bramley's routes for apps.
struct BramleyClient: Sendable {
    /// `publicURL` of the server, such as https://id.example.com.
    let server: URL
    /// How often a request without an answer is repeated.
    var retries = 4
    /// Stores neither cookies nor answers: the answers hold secrets.
    private let session = URLSession(configuration: .ephemeral)

    init(server: URL) { self.server = server }

    /// Get one before each request to Apple. It works once, for ten minutes.
    func challenge() async throws -> Challenge {
        try await decode(Challenge.self, from: send("POST", "api/v1/native/challenge"))
    }

    /// Signs in. Repeats the same bytes until an answer arrives: the server then gives the same session, and sends the
    /// code to Apple once.
    func signIn(_ request: SignInRequest) async throws -> SignedIn {
        try await decode(
            SignedIn.self,
            from: sendPersistently("POST", "api/v1/native/sessions", content: request.encoded()))
    }

    /// The person with this token; nil if the session has ended.
    func account(token: String) async throws -> Account? {
        struct Answer: Decodable { var user: Account }
        do {
            return try await decode(Answer.self, from: send("GET", "api/v1/session", token: token)).user
        } catch let problem as Problem where problem.status == 401 {
            return nil
        }
    }

    /// Ends the session at the server. Succeeds if it has already ended.
    func signOut(token: String) async throws {
        do {
            _ = try await sendPersistently("DELETE", "api/v1/session", token: token)
        } catch let problem as Problem where problem.status == 401 {}
    }

    /// Deletes the account. Apple's new code proves the person, and lets the server notify Apple.
    /// - Returns: whether Apple is notified. If false, tell the person to remove the app in Settings, under their name,
    ///   Sign in with Apple. Nil: the account was already deleted.
    @discardableResult
    func deleteAccount(token: String, authorizationCode: String, nonce: String) async throws -> Bool? {
        let content = try JSONEncoder().encode(["authorizationCode": authorizationCode, "nonce": nonce])
        do {
            let answer = try await sendPersistently("DELETE", "api/v1/account", token: token, content: content)
            struct Deletion: Decodable { var appleNotified: Bool? }
            return try decode(Deletion.self, from: answer).appleNotified
        } catch let problem as Problem where problem.status == 401 {
            // An earlier answer was lost, or the session had ended: for this app, the account is gone.
            return nil
        }
    }

    // MARK: Requests

    func send(
        _ method: String, _ path: String, token: String? = nil, content: Data? = nil
    ) async throws -> Data {
        var request = URLRequest(url: server.appendingPathComponent(path), timeoutInterval: 30)
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let content {
            request.httpBody = content
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await session.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode else { throw URLError(.badServerResponse) }
        guard (200..<300).contains(status) else {
            throw (try? JSONDecoder().decode(Problem.self, from: data))
                ?? Problem(status: status, code: "no_problem_document", detail: nil)
        }
        return data
    }

    /// Repeats the same bytes after a lost connection or a temporary failure, with growing pauses.
    func sendPersistently(
        _ method: String, _ path: String, token: String? = nil, content: Data? = nil
    ) async throws -> Data {
        var pause: UInt64 = 500_000_000
        for _ in 0..<retries {
            do {
                return try await send(method, path, token: token, content: content)
            } catch let problem as Problem where problem.isTemporary {
            } catch is URLError {
            }
            try await Task.sleep(nanoseconds: pause)
            pause *= 2
        }
        return try await send(method, path, token: token, content: content)
    }

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try JSONDecoder().decode(type, from: data)
    }
}
