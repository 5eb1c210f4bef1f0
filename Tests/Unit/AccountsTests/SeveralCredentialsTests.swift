import Coding
import Testing

@testable import Accounts

/// What is said of a person with several identities: docs/apps/credential-states.md, "Several identities".
@Suite struct SeveralCredentialsTests {
    private static func status(
        _ state: CredentialState, _ seconds: Int64?, _ cause: CredentialCause = .signIn
    ) -> CredentialStatus {
        CredentialStatus(state: state, changedAt: seconds.map { Timestamp(seconds: $0) }, cause: cause)
    }

    /// The first is what is said.
    private static let table: [[CredentialStatus]] = [
        [status(.revoked, 5)],
        [status(.authorized, 1), status(.revoked, 9), status(.notFound, 10), status(.transferred, 11)],
        [status(.authorized, nil), status(.revoked, 9)],
        [status(.authorized, 7, .imported), status(.authorized, 3), status(.authorized, nil, .transferredIn)],
        [status(.revoked, 9, .consentRevoked), status(.notFound, 8), status(.transferred, nil)],
        [status(.notFound, 9), status(.revoked, 8), status(.transferred, 7)],
        [status(.transferred, 9), status(.revoked, 8), status(.notFound, nil)],
        [status(.notFound, 9), status(.revoked, 9)],
        [status(.revoked, 9, .consentRevoked), status(.revoked, 9, .tokenDead)],
        [status(.revoked, nil), status(.revoked, nil)],
    ]

    private static func orders(_ list: [CredentialStatus]) -> [[CredentialStatus]] {
        if list.isEmpty { return [[]] }
        return list.indices.flatMap { index in
            var rest = list
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }

    @Test("authorized while any identity is, otherwise the latest change, in any order", arguments: table)
    func ofPerson(list: [CredentialStatus]) {
        for order in Self.orders(list) {
            #expect(CredentialStatus.ofPerson(order[0], Array(order.dropFirst())) == list[0], "\(order)")
        }
    }

    @Test("a moved identity is ignored beside its replacement, and counts when it is the only one")
    func moved() {
        func identity(_ status: CredentialStatus, hasMoved: Bool) -> AccountRecord.Identity {
            AccountRecord.Identity(
                team: TeamID("TEAM123456"), subject: AppleSubject("s"), credential: status,
                lastSignInAt: Timestamp(seconds: 1), createdAt: Timestamp(seconds: 1), hasMoved: hasMoved)
        }
        let (old, new) = (Self.status(.transferred, 9), Self.status(.revoked, 5))
        #expect([identity(old, hasMoved: true), identity(new, hasMoved: false)].credential == new)
        #expect([identity(old, hasMoved: true)].credential == old)
        #expect([AccountRecord.Identity]().credential == nil)
    }
}
