import Accounts
import Coding
import HTTPTypes

/// The five fields of an answer, and what is kept of a person to write them again: the lengths of four values, two bytes
/// each, and the values.
struct VerifyFields {
    /// Of somebody with an address and a name, in bytes.
    static let keptSize = 80
    private static let lengths = 8

    /// As they begin a line, in order.
    private let names = VerifiedUser.nobody.fields.map { Array("\($0.name.rawName): ".utf8) }

    /// Before them: the status line and the fields of every response.
    static func prefix(_ policy: ContentSecurityPolicy) -> [UInt8] {
        var bytes = Array("HTTP/1.1 204 No Content\r\n".utf8)
        for field in SecurityHeaders.fields(
            policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        {
            bytes += "\(field.name.rawName): \(field.value)\r\n".utf8
        }
        return bytes
    }

    /// Empty for a session that the fast path may not answer.
    static func kept(_ signedIn: SignedIn) -> [UInt8] {
        guard signedIn.session.kind == .browser, signedIn.user.state == .active else { return [] }
        return kept(VerifiedUser(signedIn.user))
    }

    static func kept(_ user: VerifiedUser) -> [UInt8] {
        let values = [user.user, user.email, user.name, user.groups].map(\.utf8)
        guard values.allSatisfy({ $0.count <= UInt16.max }) else { return [] }
        return values.flatMap { [UInt8(truncatingIfNeeded: $0.count >> 8), UInt8(truncatingIfNeeded: $0.count)] }
            + values.joined()
    }

    /// - Parameter kept: not empty.
    func append(_ kept: Span<UInt8>, to output: inout [UInt8]) {
        func end(_ index: Int, from start: Int) -> Int {
            start + Int(kept[2 * index]) << 8 + Int(kept[2 * index + 1])
        }
        let user = Self.lengths..<end(0, from: Self.lengths)
        let email = user.upperBound..<end(1, from: user.upperBound)
        let name = email.upperBound..<end(2, from: email.upperBound)
        let groups = name.upperBound..<end(3, from: name.upperBound)
        append(0, kept.extracting(user), to: &output)
        append(1, kept.extracting(email), to: &output)
        append(2, kept.extracting(email.isEmpty ? user : email), to: &output)
        append(3, kept.extracting(name), to: &output)
        append(4, kept.extracting(groups), to: &output)
    }

    private func append(_ index: Int, _ value: Span<UInt8>, to output: inout [UInt8]) {
        output += names[index]
        output.append(addingCapacity: value.count + 2) { target in
            for index in value.indices { target.append(value[index]) }
            target.append(0x0d)
            target.append(0x0a)
        }
    }
}

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
        groups = person.memberships.map(PercentEncoding.encodeComponent).joined(separator: ",")
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
