import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// The strong validator of a user's representation (RFC 9110 §8.8.1): computed from its bytes, so that whatever the API
/// shows of a user changes it, and nothing else does.
struct UserTag: Sendable {
    let value: EntityTag

    /// - Parameter document: with `User.fields`.
    init(_ document: [UInt8]) {
        value = EntityTag(digest: SHA256.hash(document).bytes)
    }

    var field: HTTPFields { [.eTag: value.fieldValue] }

    /// The request's condition on the user, for the transaction that changes them; nil when there is none.
    static func condition(of request: ServerRequest) -> UserCondition? {
        let (method, fields) = (request.head.method, request.fields)
        guard fields.contains(.ifMatch) || fields.contains(.ifNoneMatch) else { return nil }
        return { user in
            let tag = UserTag(JSONWriter.encode(user, User.fields)).value
            return ConditionalRequest.evaluate(method: method, fields: fields, eTag: tag) == .proceed
        }
    }
}
