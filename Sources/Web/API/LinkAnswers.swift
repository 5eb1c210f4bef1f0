import Accounts
import Coding
import HTTP
import HTTPTypes

/// The ticket of a link from an app: one field `Authorization: Bearer` (RFC 6750 §2.1).
enum LinkCredential {
    /// - Throws: 401 when there is none at all; an invalid one is answered like a wrong one.
    static func token<Token: SecretToken>(_ fields: HTTPFields) throws(WebFailure) -> Token {
        let values = fields[values: .authorization]
        guard let value = values.first else { throw WebFailure(.tokenRequired) }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard values.count == 1, parts.count == 2, parts[0].lowercased() == "bearer",
            let token = Token(parsing: String(parts[1].drop { $0 == " " }))
        else { throw WebFailure(.linkUnknown) }
        return token
    }
}

/// Runs a step of the domain, whose failure is shown to a visitor.
func answering<Value>(
    _ visit: FailedVisit? = nil, _ step: () async throws(Failure) -> Value
) async throws(WebFailure) -> Value {
    do {
        return try await step()
    } catch {
        throw WebFailure(error, visit: visit)
    }
}

/// Runs a step of the domain for an app or its backend.
func answeringApps<Value>(_ step: () async throws(Failure) -> Value) async throws(WebFailure) -> Value {
    do {
        return try await step()
    } catch {
        throw WebFailure(ofApp: error)
    }
}
