package import Coding
package import RelyingParty

/// A program's request to sign its visitor out (RP-Initiated Logout §2), as parsed.
package struct LogoutRequest: Sendable {
    private let fields: [FormField]

    package init(_ fields: [FormField]) {
        self.fields = fields
    }

    /// Nil when absent, empty or repeated.
    subscript(name: String) -> String? {
        let values = fields.filter { $0.name.isExactly(name) && !$0.value.isEmpty }.map(\.value)
        return values.count == 1 ? values[0] : nil
    }
}

/// What a program may ask for.
package struct LogoutAnswer: Hashable, Sendable {
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
        if let uri = request["post_logout_redirect_uri"],
            let client = try await client(hint.client),
            client.logoutURIs.contains(where: { $0.isExactly(uri) })
        {
            answer.location =
                request["state"].map { AddressQuery.append("state=\(PercentEncoding.encodeComponent($0))", to: uri) }
                ?? uri
        }
        return answer
    }
}
