import Coding

/// Somebody with an Apple Account on this simulator.
package struct Person: Sendable, Hashable {
    package var id: String
    package var givenName: String
    package var familyName: String
    package var email: String?
    package var isEmailVerified = true
    package var hidesEmail = false
    /// Work & School accounts belong to an organisation; they cannot hide their address.
    package var organizationID: String?
    /// Apple's guess for native sign-ins: 0 unsupported, 1 unknown, 2 likely real.
    package var realUserStatus: Int64 = 2
    package var note: String

    package var fullName: String { givenName + " " + familyName }

    /// The people in every new simulator: each is a case that a relying party must handle.
    package static let cast: [Person] = [
        Person(
            id: "ada", givenName: "Ada", familyName: "Byron", email: "ada@example.com", note: "Shares a real address"),
        Person(
            id: "boris", givenName: "Boris", familyName: "Novák", email: "boris@example.com", hidesEmail: true,
            note: "Hides the address behind a private relay"),
        Person(
            id: "chie", givenName: "千絵", familyName: "山田", email: "chie@example.net",
            note: "A name outside the Latin alphabet"),
        Person(id: "dana", givenName: "Dana", familyName: "O’Neil", email: nil, note: "Has no address at all"),
        Person(
            id: "erin", givenName: "Erin", familyName: "Okafor", email: "erin@school.example", isEmailVerified: false,
            organizationID: "org.example.school", realUserStatus: 1,
            note: "Work & School account, address not verified"),
    ]

    /// The team-scoped identifier, the same after every restart: `NNNNNN.32hex.NNNN`.
    func subject(team: String) -> String {
        let digest = OpenSSLHash.sha256("subject|\(id)|\(team)")
        func digits(_ byte: UInt8, _ next: UInt8, _ count: Int) -> String {
            let number = String((Int(byte) << 8 | Int(next)) % (count == 6 ? 2000 : 2400))
            return String(repeating: "0", count: count - number.utf8.count) + number
        }
        return digits(digest[16], digest[17], 6) + "." + Hexadecimal.encode(Array(digest.prefix(16))) + "."
            + digits(digest[18], digest[19], 4)
    }

    func relayAddress(team: String) -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
        let digest = OpenSSLHash.sha256("relay|\(id)|\(team)")
        return String(decoding: digest.prefix(10).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
            + "@privaterelay.appleid.com"
    }

    /// This person's address, as that team sees it.
    func address(_ consent: Consent, team: String) -> String? {
        switch consent.address {
        case .real: email
        case .relay: relayAddress(team: team)
        case .none: nil
        }
    }
}
