import Foundation

#if canImport(FoundationNetworking)
    // URLSession has its own module outside of Apple's platforms.
    import FoundationNetworking
#endif

/// Bramley's routes for apps.
public struct BramleyClient: Sendable {
    /// `publicURL` of the server, such as https://id.example.com.
    public let server: URL
    /// How often a request without an answer is repeated.
    public var retries = 4
    /// The longest wait that the server may ask for. A request that must wait longer fails with the server's `Problem`.
    public var longestPause: TimeInterval = 60
    /// Waits before a request is repeated.
    public var sleep: @Sendable (TimeInterval) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
    /// Stores neither cookies nor answers: the answers hold secrets.
    private let session = URLSession(configuration: .ephemeral)

    public init(server: URL) { self.server = server }

    /// Get one before each request to Apple. It works once, for ten minutes.
    public func challenge() async throws -> Challenge {
        try await decode(Challenge.self, from: send("POST", "api/v1/native/challenge"))
    }

    /// Signs in. Repeats the same bytes until an answer arrives: the server then gives the same session, and sends the
    /// code to Apple once.
    /// - Throws: `SignInRefusal` if the person is not admitted; otherwise `Problem` or `URLError`.
    public func signIn(_ request: SignInRequest) async throws -> SignedIn {
        do {
            return try await decode(
                SignedIn.self,
                from: sendPersistently("POST", "api/v1/native/sessions", content: request.encoded()))
        } catch let problem as Problem {
            if let refusal = SignInRefusal(rawValue: problem.code) { throw refusal }
            throw problem
        }
    }

    /// The person with this token; nil if the session has ended.
    public func account(token: String) async throws -> Account? {
        struct Answer: Decodable { var user: Account }
        do {
            return try await decode(Answer.self, from: send("GET", "api/v1/session", token: token)).user
        } catch let problem as Problem where problem.status == 401 {
            return nil
        }
    }

    /// A signed assertion for a backend of yours, as `Authorization: Bearer`. It is valid for at least four minutes, or
    /// until the session ends: get a new one for each piece of work.
    /// - Parameter audience: one of the server's `assertion.audience`; nil for the first.
    public func assertion(token: String, audience: String? = nil) async throws -> String {
        struct Answer: Decodable { var assertion: String }
        let query = audience.map { [URLQueryItem(name: "audience", value: $0)] } ?? []
        let data = try await sendPersistently("GET", "api/v1/session/assertion", query: query, token: token)
        return try decode(Answer.self, from: data).assertion
    }

    /// Ends the session at the server. Succeeds if it has already ended.
    public func signOut(token: String) async throws {
        do {
            _ = try await sendPersistently("DELETE", "api/v1/session", token: token)
        } catch let problem as Problem where problem.status == 401 {}
    }

    /// Deletes the account. Apple's new code proves the person, and lets the server notify Apple.
    /// - Returns: whether Apple is notified. If false, tell the person to remove the app in Settings, under their name,
    ///   Sign in with Apple. Nil: the account was already deleted.
    @discardableResult
    public func deleteAccount(token: String, authorizationCode: String, nonce: String) async throws -> Bool? {
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

    /// Brings Apple's answer for a link to the server.
    /// - Returns: the code with which your backend completes the link.
    func authorize(_ link: AccountLink, with proof: LinkProof) async throws -> String {
        struct Answer: Decodable { var code: String }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try await decode(
            Answer.self,
            from: sendPersistently(
                "POST", "api/v1/links/\(link.id)/authorize", token: link.ticket, content: encoder.encode(proof))
        ).code
    }

    // MARK: Requests

    func send(
        _ method: String, _ path: String, query: [URLQueryItem] = [], token: String? = nil, content: Data? = nil
    ) async throws -> Data {
        var url = server.appending(path: path)
        if !query.isEmpty { url.append(queryItems: query) }
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let content {
            request.httpBody = content
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        guard (200..<300).contains(response.statusCode) else {
            var problem =
                (try? JSONDecoder().decode(Problem.self, from: data))
                ?? Problem(status: response.statusCode, code: "no_problem_document")
            problem.retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap(TimeInterval.init)
            throw problem
        }
        return data
    }

    /// Repeats the same bytes after a lost connection or a temporary failure: after growing pauses, and never before
    /// the server's `Retry-After`.
    func sendPersistently(
        _ method: String, _ path: String, query: [URLQueryItem] = [], token: String? = nil, content: Data? = nil
    ) async throws -> Data {
        var pause = 0.5
        for _ in 0..<retries {
            var demanded: TimeInterval = 0
            do {
                return try await send(method, path, query: query, token: token, content: content)
            } catch let problem as Problem where problem.isTemporary {
                demanded = problem.retryAfter ?? 0
                guard demanded <= longestPause else { throw problem }
            } catch let error as URLError where error.code != .cancelled {
            }
            try await sleep(max(pause, demanded))
            pause *= 2
        }
        return try await send(method, path, query: query, token: token, content: content)
    }

    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try JSONDecoder().decode(type, from: data)
    }
}
