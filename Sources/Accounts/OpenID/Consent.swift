package import Coding
import Crypto
import Storage

// A program on somebody's own machine proves nothing by its client_id: every other one there can send the same. So the
// person confirms each of its requests in the browser, where no program can click (RFC 8252 §8.6). An application of
// others is confirmed once for the same scopes and service.

/// How a program on the visitor's machine receives answers (RFC 8252 §7).
package enum LocalProgram: Hashable, Sendable {
    case loopback
    case ownScheme

    /// Nil for a site.
    package init?(redirectURI: String) {
        guard let url = AbsoluteURL(redirectURI) else {
            self = .ownScheme
            return
        }
        guard let host = url.hostAndPort?.host, ClientRules.loopbackHosts.contains(host.lowercased()) else {
            return nil
        }
        self = .loopback
    }
}

/// What a person has allowed a third-party application.
package struct Consent: Hashable, Sendable {
    package var client: OpenIDClientID
    /// The service's address; empty for claims about the person.
    package var service: String
    package var scopes: [OpenIDScope]
    /// When the first of them was allowed.
    package var givenAt: Timestamp

    /// How many applications a person may allow. One more ends the access of the one allowed first: documents of a
    /// person's own would fill the database.
    package static let limit = 100

    package static let fields: [Field<Consent>] = [
        Field("clientID") { .code($0.client.rawValue) },
        Field("service") { .code($0.service.isEmpty ? nil : $0.service) },
        Field("scope") { .text(OpenIDScope.text($0.scopes)) }, Field("givenAt") { .time($0.givenAt) },
    ]
}

package enum GrantOutcome: Hashable, Sendable {
    case saved
    case sessionEnded
    /// The person has not allowed it, or no longer.
    case notAllowed
}

extension [Service] {
    /// The scopes that a request asks of each, by address; under the empty one the claims about the person. Access that
    /// outlives the session is allowed for each by itself.
    func scopes(asked scopes: [OpenIDScope]) -> [String: [OpenIDScope]] {
        var asked = reduce(into: [:]) { asked, service in
            asked[service.uri] = scopes.filter { service.has($0) || $0 == .offlineAccess }
        }
        let claims = scopes.filter(\.isIdentity)
        if !claims.isEmpty { asked[""] = claims }
        return asked
    }
}

extension Consent {
    static let columns = "client, service, scopes, given_at"

    init(_ row: Row) throws(StoreError) {
        client = try row["client"]
        service = try row["service"]
        scopes = try row.scopes("scopes")
        givenAt = try row["given_at"]
    }
}

extension Snapshot {
    func consents(of user: UserID) throws -> [Consent] {
        try rows(
            "SELECT \(Consent.columns) FROM openid_consent WHERE user = ? ORDER BY client, service",
            [user]
        ).map { try Consent($0) }
    }
}

extension Transaction {
    /// Whether the person has allowed the client these scopes, by service. If they do so now (`isAllowed`), it is
    /// stored, beside what they allowed before.
    ///
    /// - Parameter name: `client_id`, for the audit log.
    func isConsented(
        _ scopes: [String: [OpenIDScope]], of user: UserID, to client: OpenIDClientID, named name: String,
        isAllowed: Bool
    ) throws -> Bool {
        guard !scopes.isEmpty else { return true }
        let (known, others) = try consents(of: user).reduce(into: ([Consent](), [Consent]())) { parts, consent in
            if consent.client == client { parts.0.append(consent) } else { parts.1.append(consent) }
        }
        let missing = scopes.filter { service, scopes in
            !known.contains { $0.service.isExactly(service) && scopes.allSatisfy($0.scopes.contains) }
        }
        guard !missing.isEmpty, isAllowed else { return missing.isEmpty }
        if known.isEmpty, Set(others.map(\.client)).count >= Consent.limit,
            let first = others.min(by: { $0.givenAt < $1.givenAt })
        {
            try endAccess(of: first.client, to: user)
        }
        for (service, scopes) in missing {
            let former = known.first { $0.service.isExactly(service) }?.scopes ?? []
            try run(
                """
                INSERT INTO openid_consent (user, client, service, scopes, given_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (user, client, service) DO UPDATE SET scopes = excluded.scopes
                """, [user, client, service, TextList(OpenIDScope.ordered(former + scopes)), now])
        }
        try audit(.accessGiven, user: user, object: name)
        return true
    }

    /// An own application that becomes one of others keeps nothing that people were not asked about; the other way round,
    /// no consent is needed or remembered.
    func endUnasked(_ client: OpenIDClient) throws {
        if !client.isForeign {
            try run("DELETE FROM openid_consent WHERE client = ?", [client.id])
        } else if try exists(
            "SELECT 1 FROM openid_client WHERE id = ? AND needs_consent = 0 AND document IS NULL", [client.id])
        {
            try run("DELETE FROM openid_grant WHERE client = ?", [client.id])
        }
    }
}

extension OpenIDProvider {
    /// How long a person may take to decide, in seconds.
    static let decisionLifetime: Int64 = 600

    /// For the form in which a person allows the request with this digest, in this session.
    func decisionTicket(for request: Digest256, in session: SessionID, at now: Timestamp) -> String {
        RequestSeal(time: now, name: session.rawValue).text(.decision, for: request, with: keyring)
    }

    /// Whether this is the ticket of this request and session.
    func allows(
        _ ticket: String?, _ request: Digest256, in session: SessionID, at now: Timestamp
    ) -> Bool {
        guard let seal = ticket.flatMap({ RequestSeal.open($0, .decision, for: request, with: keyring) }) else {
            return false
        }
        return now < seal.time.adding(seconds: Self.decisionLifetime) && seal.name.isExactly(session.rawValue)
    }
}
