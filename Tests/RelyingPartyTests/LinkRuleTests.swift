import RelyingParty
import Testing

/// Who wins: every holder, with every owner, converting or not, replacing or not.
@Suite struct LinkRuleTests {
    private static let holder = UserID(unchecked: "usr_holder")
    private static let other = UserID(unchecked: "usr_other")

    /// What the identity's user is.
    enum Holder: String, CaseIterable, Sendable {
        case none, free, same, elsewhere
        case pendingFree, pendingSame, pendingElsewhere, disabledFree, disabledSame, disabledElsewhere

        var rule: LinkRule.Holder? {
            let state: User.State =
                rawValue.hasPrefix("pending") ? .pending : rawValue.hasPrefix("disabled") ? .disabled : .active
            let externalID: String? =
                switch self {
                case .same, .pendingSame, .disabledSame: "account"
                case .elsewhere, .pendingElsewhere, .disabledElsewhere: "another"
                default: nil
                }
            return self == .none
                ? nil : LinkRule.Holder(user: LinkRuleTests.holder, state: state, externalID: externalID)
        }

        var hasIt: Bool { rule?.externalID == "account" }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var holder: Holder
        var isOwned: Bool
        var isConverting: Bool
        var mayReplace: Bool
        var expected: String
        var testDescription: String { "\(holder) \(isOwned) \(isConverting) \(mayReplace)" }
    }

    /// Written out by hand: the columns are free, owned, owned and may replace; then the three while another converts.
    private static let table: [(Holder, [String])] = [
        (.none, ["create", "taken", "create from other", "taken", "taken", "taken"]),
        (.free, ["set", "taken", "set from other", "taken", "taken", "taken"]),
        (.same, ["present", "present", "present", "taken", "taken", "taken"]),
        (.elsewhere, ["elsewhere", "elsewhere", "elsewhere", "elsewhere", "elsewhere", "elsewhere"]),
        (.pendingFree, Array(repeating: "pending", count: 6)),
        (.pendingSame, Array(repeating: "pending", count: 6)),
        (.pendingElsewhere, Array(repeating: "pending", count: 6)),
        (.disabledFree, Array(repeating: "disabled", count: 6)),
        (.disabledSame, Array(repeating: "disabled", count: 6)),
        (.disabledElsewhere, Array(repeating: "disabled", count: 6)),
    ]

    static let rows: [Row] = table.flatMap { holder, expected in
        [
            (false, false, false), (true, false, false), (true, false, true), (false, true, false), (true, true, false),
            (true, true, true),
        ]
        .enumerated().map { index, place in
            Row(
                holder: holder, isOwned: place.0, isConverting: place.1, mayReplace: place.2,
                expected: expected[index])
        }
    }

    @Test func namesEveryHolder() {
        #expect(Self.table.map(\.0) == Holder.allCases)
    }

    @Test(arguments: rows)
    func decides(row: Row) {
        let owner: UserID? = row.holder.hasIt ? Self.holder : row.isOwned ? Self.other : nil
        let decision = LinkRule.decide(
            holder: row.holder.rule, owner: owner, externalID: "account",
            convertingFor: row.isConverting ? Self.other : nil, mayReplace: row.mayReplace)
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
        let holder = LinkRule.Holder(user: Self.holder, state: .active, externalID: "caf\u{E9}")
        let decision = LinkRule.decide(
            holder: holder, owner: nil, externalID: "cafe\u{301}", convertingFor: nil, mayReplace: true)
        #expect(decision == .refused(.identityLinkedElsewhere))
    }

    @Test("while the holder's own link converts: a second try is told so, unless something else stands against it")
    func ownConversion() {
        let expected: [Holder: LinkRule.Refusal] = [
            .none: .accountAlreadyLinked, .free: .conversionPending, .same: .conversionPending,
            .elsewhere: .identityLinkedElsewhere, .pendingFree: .userPending, .pendingSame: .userPending,
            .pendingElsewhere: .userPending, .disabledFree: .userDisabled, .disabledSame: .userDisabled,
            .disabledElsewhere: .userDisabled,
        ]
        for holder in Holder.allCases {
            for mayReplace in [false, true] {
                let decision = LinkRule.decide(
                    holder: holder.rule, owner: Self.holder, externalID: "account", convertingFor: Self.holder,
                    mayReplace: mayReplace)
                #expect(expected[holder].map { .refused($0) } == decision, "\(holder)")
            }
        }
    }

    @Test("what a refused link keeps is answered again", arguments: LinkRule.Refusal.allCases)
    func answersAgain(refusal: LinkRule.Refusal) {
        #expect(LinkFailure(stored: refusal.failure.stored) == refusal.failure)
    }

    @Test("the three codes Apple's extension knows are spelt as documented")
    func spellsCodes() {
        #expect(LinkFailure.identityLinkedElsewhere.reason == "identity-linked-elsewhere")
        #expect(LinkFailure.accountAlreadyLinked.reason == "account-already-linked")
        #expect(LinkFailure.conversionFailed(retryAfter: nil).reason == "conversion-failed")
    }
}
