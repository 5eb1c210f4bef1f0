import Accounts
import Coding
import HTTP
import HTTPTypes

/// The content of `PATCH /api/v1/users/{id}`: a JSON merge patch (RFC 7396) of three members.
enum UserPatchBody {
    private static let types = ["application/merge-patch+json", "application/json"]

    static func parse(_ request: ServerRequest) throws(WebFailure) -> UserPatch {
        guard let type = MediaType.essence(of: request.fields), types.contains(type) else {
            throw WebFailure(.unsupportedMediaType)
        }
        let value: JSONValue
        do {
            value = try JSONReader.parse(request.body, limits: JSONLimits(maximumDepth: 4))
        } catch {
            throw .invalidRequest("the content is not JSON: \(error.reason.rawValue)")
        }
        guard let object = value.objectValue else { throw .invalidRequest("the content is not an object") }
        var patch = UserPatch()
        for member in object.members {
            if member.name.isExactly("externalID") {
                patch.externalID = .some(try externalID(member.value))
            } else if member.name.isExactly("groups") {
                patch.groups = try groups(member.value)
            } else if member.name.isExactly("state") {
                guard let state = member.value.stringValue.flatMap(User.State.init(rawValue:)) else {
                    throw .invalidRequest("state must be active, pending or disabled")
                }
                patch.state = state
            } else {
                throw .invalidRequest(
                    APIQuery.refusal(of: member.name, ["externalID", "groups", "state"], "member"))
            }
        }
        return patch
    }

    private static func externalID(_ value: JSONValue) throws(WebFailure) -> String? {
        if value.isNull { return nil }
        guard let text = value.stringValue, UserLimits.accepts(externalID: text) else {
            throw .invalidRequest(
                "externalID is null or 1 to \(UserLimits.externalID) bytes of text without control characters")
        }
        return text
    }

    private static func groups(_ value: JSONValue) throws(WebFailure) -> [String] {
        let names = value.arrayValue?.compactMap(\.stringValue)
        guard let names, names.count == value.arrayValue?.count, UserLimits.accepts(groups: names) else {
            throw .invalidRequest(
                """
                groups is a list of at most \(UserLimits.groups) different names of 1 to \(UserLimits.groupName) bytes \
                without commas, control characters, line separators and spaces at either end
                """)
        }
        return names
    }
}
