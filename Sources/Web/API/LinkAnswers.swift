import Accounts
import Coding
import HTTP
import HTTPTypes

/// The ticket of a link from an app: one field `Authorization: Bearer` (RFC 6750 §2.1).
enum LinkCredential {
    /// - Throws: 401 when there is none at all; an invalid one is answered like a wrong one.
    static func token<Token: SecretToken>(_ fields: HTTPFields) throws(WebFailure) -> Token {
        let values = fields[values: .authorization]
        guard let value = values.first else { throw .linkTokenMissing }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard values.count == 1, parts.count == 2, parts[0].lowercased() == "bearer",
            let token = Token(parsing: String(parts[1].drop { $0 == " " }))
        else { throw .link(.unknown, way: nil) }
        return token
    }
}

extension WebFailure {
    /// The answer for an app or a backend.
    init(program failure: LinkFailure) {
        switch failure {
        case .invalid(let member): self = .invalidRequest(Self.explanation(of: member))
        case .signIn(let failure): self = .nativeSignIn(failure)
        default: self.init(visitor: failure, way: nil)
        }
    }

    /// The answer for a visitor.
    /// - Parameter way: how they continue.
    init(visitor failure: LinkFailure, way: LinkWay?) {
        switch failure {
        case .userPending where way == nil: self = .userPending
        case .userDisabled where way == nil: self = .userDisabled
        default: self = .link(failure, way: way)
        }
    }

    /// - Parameter member: one that the domain refused.
    private static func explanation(of member: String) -> String {
        switch member {
        case "externalID":
            "externalID is 1 to \(UserLimits.externalID) bytes of text without control characters"
        case "displayName":
            "displayName is 1 to \(LinkLimits.displayName) bytes of text without control characters"
        case "returnTo":
            "returnTo is a path of publicURL, or an absolute URL on its origin or one of login.allowedReturnOrigins"
        default: "\(member) has an invalid value"
        }
    }
}

extension LinkFailure {
    var isSignIn: Bool { if case .signIn = self { true } else { false } }
}

/// How a visitor continues after a link that failed.
struct LinkWay: Sendable {
    /// Nil when the link is unknown.
    var link: LinkID?
    /// Where it would have led.
    var returnTo: ReturnTarget?
    /// The language chosen by `ui_locales`; nil when the browser's own is right.
    var language: String?
    /// `Set-Cookie` for what would otherwise be lost.
    var cookies: [String] = []
}

/// Runs a step of the domain, mapping its failure for programs.
func answeringPrograms<Value>(
    _ step: () async throws(LinkFailure) -> Value
) async throws(WebFailure) -> Value {
    do {
        return try await step()
    } catch {
        throw WebFailure(program: error)
    }
}

/// Runs a step of the domain, mapping its failure for visitors.
func answeringVisitors<Value>(
    _ way: LinkWay? = nil, _ step: () async throws(LinkFailure) -> Value
) async throws(WebFailure) -> Value {
    do {
        return try await step()
    } catch {
        throw WebFailure(visitor: error, way: way)
    }
}
