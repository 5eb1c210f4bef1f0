import Coding
import HTTPTypes
import RelyingParty

/// What `/auth/verify` tells a proxy of a person: five fields, sent every time and empty when unknown, so that none a
/// client sent itself slips through.
struct VerifiedUser: Hashable, Sendable {
    /// Bramley's id.
    var user = ""
    /// The address, only when Apple verified it and it is visible ASCII.
    var email = ""
    /// The address, else the id.
    var preferredUsername = ""
    /// Given and family name, percent-encoded UTF-8; display only.
    var name = ""
    /// Joined by commas; what is no plain word is percent-encoded.
    var groups = ""

    static let nobody = VerifiedUser()

    private init() {}

    init(_ person: User) {
        user = person.id.rawValue
        email = person.email?.forApplications ?? ""
        preferredUsername = email.isEmpty ? user : email
        name = PercentEncoding.encodeComponent(PersonText.fullName(of: person.name) ?? "")
        groups = person.groups.map(PercentEncoding.encodeComponent).joined(separator: ",")
    }

    var fields: [(name: HTTPField.Name, value: String)] {
        [
            (.authRequestUser, user), (.authRequestEmail, email),
            (.authRequestPreferredUsername, preferredUsername), (.authRequestName, name),
            (.authRequestGroups, groups),
        ]
    }
}
