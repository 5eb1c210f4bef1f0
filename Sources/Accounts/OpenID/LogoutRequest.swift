package import Coding
package import Storage

/// A program's request to sign its visitor out (RP-Initiated Logout §2), as parsed.
package struct LogoutRequest: Sendable {
    private let fields: [FormField]

    private static let names = [
        "id_token_hint", "logout_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales",
    ]

    /// - Throws: `invalid_request` for a parameter that is given twice.
    package init(_ fields: [FormField]) throws(ProviderError) {
        for name in Self.names where fields.count(where: { $0.name.isExactly(name) }) > 1 {
            throw ProviderError(.invalidRequest, "\(name) is given more than once")
        }
        self.fields = fields
    }

    /// Nil when absent or empty.
    subscript(name: String) -> String? {
        fields.first { $0.name.isExactly(name) && !$0.value.isEmpty }?.value
    }
}

/// What a program may ask for.
package struct LogoutAnswer: Sendable {
    /// An address that is not registered, with its client: nobody is signed out (§3, §4).
    package var refusal: (client: OpenIDClient, uri: String)?
    /// Whose session may end without a question: the person of a valid ID token.
    package var user: UserID?
    /// Where the visitor goes afterwards; nil: to a page of ours.
    package var location: String?
}

extension OpenIDProvider {
    /// - Returns: nobody and nowhere without a valid ID token (§2, §4).
    package func logout(_ request: LogoutRequest) async throws(StoreError) -> LogoutAnswer {
        guard let text = request["id_token_hint"],
            let hint = try await tokens.verify(hint: text, at: clock.now()),
            request["client_id"].map({ $0.isExactly(hint.client.rawValue) }) ?? true
        else { return LogoutAnswer() }
        var answer = LogoutAnswer(user: hint.user)
        if let uri = request["post_logout_redirect_uri"], let client = try await client(hint.client) {
            guard client.logoutURIs.contains(where: { $0.isExactly(uri) }) else {
                return LogoutAnswer(refusal: (client, uri))
            }
            answer.location =
                request["state"].map { AddressQuery.append("state=\(PercentEncoding.encodeComponent($0))", to: uri) }
                ?? uri
        }
        return answer
    }
}
