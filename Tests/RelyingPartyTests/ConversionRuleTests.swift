import Coding
import Crypto
import RelyingParty
import Testing

/// The application is asked only while Apple opens the account.
@Suite struct ConversionRuleTests {
    private static func user(
        _ state: User.State, _ externalID: String?, _ credential: CredentialState, other: CredentialState? = nil
    ) -> User {
        func status(_ state: CredentialState) -> CredentialStatus {
            CredentialStatus(state: state, changedAt: nil, cause: .signIn)
        }
        return User(
            id: UserID(unchecked: "usr_a"), state: state, externalID: externalID, appleSubject: AppleSubject("ann"),
            credential: status(credential), otherCredentials: other.map { [status($0)] } ?? [],
            createdAt: Timestamp(seconds: 0))
    }

    private static let link = Link(
        key: LinkKey(unchecked: "upg_a"), style: .password, kind: .upgrade, state: .converting,
        tokenHash: SHA256.hash([]), externalID: "caf\u{E9}",
        nonce: "n", createdAt: Timestamp(seconds: 0))

    static let cases: [(User, Bool, ConversionRule.Obstacle?)] = [
        (user(.active, "caf\u{E9}", .authorized), true, nil),
        (user(.active, "caf\u{E9}", .revoked, other: .authorized), true, nil),
        (user(.active, nil, .authorized), true, .accountChanged),
        (user(.active, "cafe\u{301}", .authorized), true, .accountChanged),
        (user(.disabled, "another", .authorized), true, .accountChanged),
        (user(.disabled, "caf\u{E9}", .authorized), true, .userDisabled),
        (user(.pending, "caf\u{E9}", .authorized), true, .userPending),
        (user(.active, "caf\u{E9}", .authorized), false, .accountDeleted),
        (user(.active, "caf\u{E9}", .revoked), true, .consentRevoked),
        (user(.active, "caf\u{E9}", .notFound), true, .accountDeleted),
        (user(.active, "caf\u{E9}", .transferred), true, .transferred),
    ]

    @Test(arguments: cases)
    func decides(user: User, hasIdentity: Bool, expected: ConversionRule.Obstacle?) {
        #expect(ConversionRule.obstacle(to: Self.link, user: user, hasIdentity: hasIdentity) == expected)
    }

    @Test func namesEveryObstacle() {
        #expect(Set(Self.cases.compactMap(\.2)) == Set(ConversionRule.Obstacle.allCases))
    }
}
