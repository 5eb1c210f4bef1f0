import Accounts
import Coding
import HTTPTypes

/// What `/auth/verify` tells a proxy about a person: five fields, always sent and empty when unknown, so that a
/// client's own fields never get through.
struct VerifiedUser: Hashable, Sendable {
    /// Bramley's id.
    var user = ""
    /// The address, only when Apple verified it and it is visible ASCII.
    var email = ""
    /// Given and family name, percent-encoded UTF-8; for display only.
    var name = ""
    /// Joined by commas; anything but plain words is percent-encoded.
    var groups = ""

    static let nobody = VerifiedUser()

    private init() {}

    init(_ person: User) {
        user = person.id.rawValue
        email = person.email?.forApplications ?? ""
        name = PercentEncoding.encodeComponent(person.name.full ?? "")
        groups = person.groups.map(PercentEncoding.encodeComponent).joined(separator: ",")
    }

    /// The address, otherwise the id.
    var preferredUsername: String { email.isEmpty ? user : email }

    var fields: [(name: HTTPField.Name, value: String)] {
        [
            (.authRequestUser, user), (.authRequestEmail, email),
            (.authRequestPreferredUsername, preferredUsername), (.authRequestName, name),
            (.authRequestGroups, groups),
        ]
    }
}
