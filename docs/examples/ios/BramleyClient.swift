import Foundation

#if canImport(FoundationNetworking)
    // Where URLSession is a module of its own: not on Apple's platforms.
    import FoundationNetworking
#endif

/// A nonce of the server's, for one request to Apple.
struct Challenge: Decodable, Sendable {
    let nonce: String
}

/// What the server wants to know of a sign-in: Apple's answer, and the challenge it answers.
struct SignInRequest: Codable, Sendable {
    struct Name: Codable, Sendable {
        var givenName: String?
        var familyName: String?
    }

    var identityToken: String
    var authorizationCode: String
    var nonce: String
    /// Apple gives it the first time only: send it whenever you have it.
    var user: Name?

    /// Always the same bytes for the same request, so that a retry is recognised.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }
}

/// Who is signed in, as the server says.
struct Account: Codable, Sendable {
    struct Name: Codable, Sendable {
        var given: String?
        var family: String?
    }

    /// The server's id of the person: the one to store.
    var id: String
    /// Apple's, for `credentialState(forUserID:)`.
    var appleSubject: String
    var email: String?
    var name: Name
    /// `authorized`, `revoked`, `notFound` or `transferred`.
    var credentialState: String
}

/// A sign-in that worked. `token` is a password: it belongs in the Keychain and into `Authorization`, nowhere else.
struct SignedIn: Codable, Sendable {
    var token: String
    var user: Account
}

/// What the server said instead of doing as asked (RFC 9457).
struct Problem: Error, Decodable, Sendable {
    var status: Int
    /// Stable; docs/api.md lists them all.
    var code: String
    var detail: String?

    /// The same request may work in a moment.
    var isTemporary: Bool { [429, 502, 503].contains(status) }
}

/// Bramley's routes for apps.
struct BramleyClient: Sendable {
    /// `publicURL` of the server, such as https://id.example.com.
    let server: URL
    /// How often a request whose answer was lost is sent again.
    var retries = 4
    /// Keeps neither cookies nor answers: the server's answers hold secrets.
    private let session = URLSession(configuration: .ephemeral)

    init(server: URL) { self.server = server }

    /// Ask for one before each request to Apple. It is good for ten minutes, once.
    func challenge() async throws -> Challenge {
        try await decode(Challenge.self, from: send("POST", "api/v1/native/challenge"))
    }

    /// Signs in. Sends the very same content again while the answer does not come: the server then gives the same
    /// session, and sends the code to Apple once.
    func signIn(_ request: SignInRequest) async throws -> SignedIn {
        try await decode(
            SignedIn.self,
            from: sendPersistently("POST", "api/v1/native/sessions", content: request.encoded()))
    }

    /// Who is signed in with this token; nil when the session has ended.
    func account(token: String) async throws -> Account? {
        struct Answer: Decodable { var user: Account }
        do {
            return try await decode(Answer.self, from: send("GET", "api/v1/session", token: token)).user
        } catch let problem as Problem where problem.status == 401 {
            return nil
        }
    }

    /// Ends the session at the server. One that has ended already is as good.
    func signOut(token: String) async throws {
        do {
            _ = try await sendPersistently("DELETE", "api/v1/session", token: token)
        } catch let problem as Problem where problem.status == 401 {}
    }

    /// Deletes the account with what Apple has just given: it proves the person, and lets the server tell Apple.
    /// - Returns: whether Apple is told. False: say to the person that they can remove the app in Settings, under their
    ///   name, Sign in with Apple. Nil: the account was gone before.
    @discardableResult
    func deleteAccount(token: String, authorizationCode: String, nonce: String) async throws -> Bool? {
        let content = try JSONEncoder().encode(["authorizationCode": authorizationCode, "nonce": nonce])
        do {
            let answer = try await sendPersistently("DELETE", "api/v1/account", token: token, content: content)
            struct Deletion: Decodable { var appleNotified: Bool? }
            return try decode(Deletion.self, from: answer).appleNotified
        } catch let problem as Problem where problem.status == 401 {
            // The answer of an earlier try was lost, or the session had ended: either way it is gone for this app.
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

    /// The same bytes again after a lost connection or a passing failure, with longer and longer pauses.
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
