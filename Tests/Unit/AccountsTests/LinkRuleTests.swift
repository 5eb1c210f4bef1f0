import Coding
import Crypto
import Testing

@testable import Accounts

/// Who wins: every holder, with every owner, replacing or not; and what a completed link says of its account.
@Suite struct LinkRuleTests {
    private static let holder = UserID(unchecked: "usr_holder")
    private static let other = UserID(unchecked: "usr_other")

    /// What the identity's user is.
    enum Holder: String, CaseIterable, Sendable {
        case none, free, same, elsewhere
        case pendingFree, pendingSame, pendingElsewhere, disabledFree, disabledSame, disabledElsewhere

        var rule: User? {
            let state: User.State =
                rawValue.hasPrefix("pending") ? .pending : rawValue.hasPrefix("disabled") ? .disabled : .active
            let externalID: String? =
                switch self {
                case .same, .pendingSame, .disabledSame: "account"
                case .elsewhere, .pendingElsewhere, .disabledElsewhere: "another"
                default: nil
                }
            return self == .none
                ? nil : LinkRuleTests.user(state, externalID, .authorized)
        }

        var hasIt: Bool { rule?.externalID == "account" }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var holder: Holder
        var isOwned: Bool
        var mayReplace: Bool
        var expected: String
        var testDescription: String { "\(holder) \(isOwned) \(mayReplace)" }
    }

    /// Written out by hand: the columns are free, owned, owned and may replace.
    private static let table: [(Holder, [String])] = [
        (.none, ["create", "taken", "create from other"]),
        (.free, ["set", "taken", "set from other"]),
        (.same, ["present", "present", "present"]),
        (.elsewhere, ["elsewhere", "elsewhere", "elsewhere"]),
        (.pendingFree, ["pending", "pending", "pending"]),
        (.pendingSame, ["pending", "pending", "pending"]),
        (.pendingElsewhere, ["pending", "pending", "pending"]),
        (.disabledFree, ["disabled", "disabled", "disabled"]),
        (.disabledSame, ["disabled", "disabled", "disabled"]),
        (.disabledElsewhere, ["disabled", "disabled", "disabled"]),
    ]

    static let rows: [Row] = table.flatMap { holder, expected in
        [(false, false), (true, false), (true, true)].enumerated().map { index, place in
            Row(holder: holder, isOwned: place.0, mayReplace: place.1, expected: expected[index])
        }
    }

    @Test(arguments: rows)
    func decides(row: Row) {
        let owner: UserID? = row.holder.hasIt ? Self.holder : row.isOwned ? Self.other : nil
        let decision = LinkRule.decide(
            holder: row.holder.rule, owner: owner, externalID: "account", mayReplace: row.mayReplace)
        let expected: LinkRule.Decision =
            switch row.expected {
            case "create": .create(takenFrom: nil)
            case "create from other": .create(takenFrom: Self.other)
            case "set": .set(Self.holder, takenFrom: nil)
            case "set from other": .set(Self.holder, takenFrom: Self.other)
            case "present": .present(Self.holder)
            case "taken": .refused(.accountAlreadyLinked)
            case "elsewhere": .refused(.identityLinkedElsewhere)
            case "pending": .refused(.userPending)
            default: .refused(.userDisabled)
            }
        #expect(decision == expected)
    }

    @Test("two spellings of one text are two accounts")
    func comparesExactly() {
        let decision = LinkRule.decide(
            holder: Self.user(.active, "caf\u{E9}", .authorized), owner: nil, externalID: "cafe\u{301}",
            mayReplace: true)
        #expect(decision == .refused(.identityLinkedElsewhere))
    }

    @Test(
        "a refused link repeats its refusal",
        arguments: [
            ReasonCode.identityLinkedElsewhere, .accountAlreadyLinked, .userPending, .userDisabled, .revoked,
        ])
    func answersAgain(code: ReasonCode) {
        #expect(Failure(ofLink: code.rawValue) == Failure(code))
    }

    @Test("an unknown stored failure is a valid end")
    func answersEnds() {
        for reason in [nil, "link_ended", "team_changed", "unreadable", "conversion_refused", ""] {
            #expect(Failure(ofLink: reason) == Failure(.linkEnded))
        }
    }

    @Test("the codes Apple's extension knows are spelt as documented")
    func spellsCodes() {
        #expect(ReasonCode.identityLinkedElsewhere.rawValue == "identity-linked-elsewhere")
        #expect(ReasonCode.accountAlreadyLinked.rawValue == "account-already-linked")
    }

    private static func user(
        _ state: User.State, _ externalID: String?, _ credential: CredentialState, other: CredentialState? = nil
    ) -> User {
        func status(_ state: CredentialState) -> CredentialStatus {
            CredentialStatus(state: state, changedAt: nil, cause: .signIn)
        }
        return User(
            id: holder, state: state, externalID: externalID, appleSubject: AppleSubject("ann"),
            credential: status(credential), otherCredentials: other.map { [status($0)] } ?? [],
            createdAt: Timestamp(seconds: 0))
    }

    private static func link(_ externalID: String?) -> Link {
        Link(
            id: LinkID(unchecked: "lnk_a"), kind: .upgrade, state: .done, ticketHash: SHA256.hash([]),
            addressHash: nil, externalID: externalID, nonce: "n", createdAt: Timestamp(seconds: 0),
            expiresAt: Timestamp(seconds: Link.lifetime))
    }

    struct Completed: Sendable, CustomTestStringConvertible {
        var user: User
        var hasIdentity = true
        /// Of the link.
        var externalID: String? = "caf\u{E9}"
        var expected: ReasonCode?
        var testDescription: String {
            "\(user.state) \(user.externalID ?? "none") \(user.credential.state) \(hasIdentity) \(externalID ?? "none")"
        }
    }

    static let completed: [Completed] = [
        Completed(user: user(.active, "caf\u{E9}", .authorized)),
        Completed(user: user(.active, "caf\u{E9}", .revoked, other: .authorized)),
        Completed(user: user(.active, "caf\u{E9}", .transferred, other: .authorized)),
        Completed(user: user(.active, nil, .authorized), expected: .linkEnded),
        Completed(user: user(.active, "another", .authorized), expected: .linkEnded),
        Completed(user: user(.active, "cafe\u{301}", .authorized), expected: .linkEnded),
        Completed(user: user(.disabled, "another", .authorized), expected: .linkEnded),
        Completed(user: user(.disabled, "caf\u{E9}", .authorized), expected: .userDisabled),
        Completed(user: user(.disabled, "caf\u{E9}", .revoked), expected: .userDisabled),
        Completed(user: user(.disabled, "caf\u{E9}", .notFound), expected: .userDisabled),
        Completed(user: user(.pending, "caf\u{E9}", .authorized), expected: .userPending),
        Completed(user: user(.active, "caf\u{E9}", .revoked), expected: .revoked),
        Completed(user: user(.active, "caf\u{E9}", .revoked), hasIdentity: false, expected: .revoked),
        Completed(user: user(.active, "caf\u{E9}", .notFound), expected: .linkEnded),
        Completed(user: user(.active, "caf\u{E9}", .transferred), expected: .linkEnded),
        Completed(user: user(.active, "caf\u{E9}", .authorized), hasIdentity: false, expected: .linkEnded),
        // Of a version that kept no account of a completed link.
        Completed(user: user(.active, "caf\u{E9}", .authorized), externalID: nil),
        Completed(user: user(.active, nil, .authorized), externalID: nil),
        Completed(user: user(.active, nil, .revoked), externalID: nil, expected: .revoked),
        Completed(user: user(.disabled, nil, .authorized), externalID: nil, expected: .userDisabled),
    ]

    @Test("a completed link says why its account cannot sign in with Apple", arguments: completed)
    func obstacle(test: Completed) {
        #expect(
            LinkRule.obstacle(to: Self.link(test.externalID), user: test.user, hasIdentity: test.hasIdentity)
                == test.expected)
    }

    @Test("the tables cover every holder, and every state of a person and of their consent")
    func tableIsWhole() {
        #expect(Set(Self.completed.map(\.user.state)) == Set(User.State.allCases))
        #expect(Set(Self.completed.map(\.user.credential.state)) == Set(CredentialState.allCases))
        #expect(Self.table.map(\.0) == Holder.allCases)
    }
}
