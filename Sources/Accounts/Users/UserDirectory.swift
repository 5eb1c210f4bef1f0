package import Coding
import Storage

/// Where a page of a list ended: the last user's position in its order, in a search by name after that of the word.
package struct UserCursor: Hashable, Sendable {
    /// Of the creation, or of the last sign-in.
    package var time: Timestamp
    package var id: UserID
    package var word: String?
}

/// By creation, or the last sign-in first. A search by name is in the order of the words found.
package enum UserOrder: String, Sendable, CaseIterable {
    case newest, oldest
    case lastSignIn = "last-sign-in"
}

/// Selects users; nil values select all.
package struct UserFilter: Hashable, Sendable {
    package var state: User.State?
    package var group: String?
    /// The whole address; ASCII letters match in either case.
    package var email: String?
    /// Beginnings of words of the name (`SearchWords`).
    package var name: String?
    package var order: UserOrder

    package init(
        state: User.State? = nil, group: String? = nil, email: String? = nil, name: String? = nil,
        order: UserOrder = .oldest
    ) {
        self.state = state
        self.group = group
        self.email = email
        self.name = name
        self.order = order
    }

    package func accepts(_ user: User) -> Bool {
        (state == nil || state == user.state)
            && (group.map { group in user.memberships.contains { $0.isExactly(group) } } ?? true)
            && (email.map { Self.folded($0) == user.email.map { Self.folded($0.address) } } ?? true)
            && (name.flatMap(SearchWords.query).map { SearchWords.finds($0, in: user.name) } ?? true)
    }

    /// Bytes with ASCII capitals in lower case, as the index user_email has them.
    static func folded(_ address: String) -> [UInt8] {
        address.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}

/// A condition on the user for a change to be made, evaluated in its transaction: no other write comes between.
package typealias UserCondition = @Sendable (User) -> Bool

/// May have fewer than `limit` when many had to be scanned.
package typealias UserPage = Page<User, UserCursor>

/// Changes to a user by an application or the operator; nil leaves a field as it is.
package struct UserPatch: Hashable, Sendable {
    /// The application's own id; an inner nil removes it.
    package var externalID: String??
    package var groups: [String]?
    /// `active` approves and enables; `disabled` ends every session.
    package var state: User.State?
    /// `operator.groups`, for other callers: they may not add or remove these, nor approve or enable someone in them.
    package var protectedGroups: [String]

    package init(
        externalID: String?? = nil, groups: [String]? = nil, state: User.State? = nil, protectedGroups: [String] = []
    ) {
        self.externalID = externalID
        self.groups = groups
        self.state = state
        self.protectedGroups = protectedGroups
    }

    package var isEmpty: Bool { externalID == nil && groups == nil && state == nil }
}

extension User {
    package func applying(_ patch: UserPatch) -> User {
        var user = self
        if let externalID = patch.externalID { user.externalID = externalID }
        if let groups = patch.groups { user.groups = groups }
        if let state = patch.state { user.state = state }
        return user
    }

    /// Whether a patch adds, removes or restores one of its protected groups.
    package func isProtected(from patch: UserPatch) -> Bool {
        let after = applying(patch)
        let becomesActive = state != .active && after.state == .active
        return patch.protectedGroups.contains { group in
            let (had, has) = (groups.contains(where: group.isExactly), after.groups.contains(where: group.isExactly))
            return had != has || has && becomesActive
        }
    }
}

package enum UserPatchResult: Hashable, Sendable {
    /// The user after the patch; without a change, nothing was written.
    case patched(User)
    case unknown
    case externalIDTaken(by: UserID)
    /// The condition does not, or no longer, hold; nothing was written.
    case conditionFailed
    /// Nothing was written.
    case groupProtected
    /// No one else is active and in a group of `operator.groups`; nothing was written.
    case lastOperator
}

package enum UserDeletion: Hashable, Sendable {
    case unknown
    /// The condition does not, or no longer, hold; nothing was written.
    case conditionFailed
    /// As for a patch.
    case lastOperator
    /// With this many refresh tokens queued for revocation.
    case deleted(revocations: Int)

    /// Whether Apple is notified; nil without a deletion.
    package var isAppleNotified: Bool? {
        if case .deleted(let revocations) = self { revocations > 0 } else { nil }
    }
}

/// Limits on an application's values for a user.
package enum UserLimits {
    /// Bytes of UTF-8.
    package static let externalID = 255
    package static let groupName = 64
    package static let groups = 64
    package static let pageSize = 200

    package static func accepts(externalID: String) -> Bool { PlainLine.accepts(externalID, maximum: Self.externalID) }

    /// Begins the group of an organization. Apple alone says who is in it.
    package static let organization = "org:"

    package static func isOrganization(_ group: String) -> Bool { group.utf8.starts(with: organization.utf8) }

    /// Of the operator's groups.
    package static func accepts(groups: [String]) -> Bool {
        groups.count <= Self.groups && Set(groups.map { Array($0.utf8) }).count == groups.count
            && groups.allSatisfy { accepts(group: $0) && !isOrganization($0) }
    }

    package static func accepts(organizationID: String) -> Bool {
        !organizationID.isEmpty && accepts(group: organization + organizationID)
    }

    /// Commas separate groups in the proxy's field.
    package static func accepts(group: String) -> Bool {
        let maximum = isOrganization(group) ? externalID : groupName
        return PlainLine.acceptsName(group, maximum: maximum) && !group.utf8.contains(UInt8(ascii: ","))
    }
}

extension Database {
    package func user(_ id: UserID) async throws(Failure) -> User? {
        try await lookUp { snapshot in try snapshot.user(id) }
    }

    package func user(externalID: String) async throws(Failure) -> User? {
        try await lookUp { snapshot in
            try snapshot.firstRow("\(User.all) WHERE u.external_id = ?", [externalID]).map { try User($0) }
        }
    }

    package func user(team: TeamID, subject: AppleSubject) async throws(Failure) -> User? {
        try await read { snapshot in
            guard let identity = try snapshot.identity(team: team, subject: subject) else { return nil }
            let id: UserID? = try snapshot.value("SELECT user FROM apple_identity WHERE id = ?", [identity])
            return try id.flatMap { try snapshot.user($0) }
        }
    }

    /// At most `limit` users after `cursor`.
    package func users(_ filter: UserFilter, after cursor: UserCursor?, limit: Int) async throws(Failure) -> UserPage {
        var (found, next): ([User], UserCursor?) = ([], cursor)
        // Separate reads, so that others need not wait for all of them.
        for _ in 0..<UserChoice.pieces {
            let (after, rest) = (next, limit - found.count)
            let page = try await read { snapshot in
                guard let choice = try UserChoice(filter, after: after, on: snapshot) else { return UserPage() }
                return try choice.page(limit: rest, on: snapshot)
            }
            found += page.items
            next = page.next
            if next == nil || found.count >= limit { break }
        }
        return UserPage(items: found, next: next)
    }

    package func users(_ ids: Set<UserID>) async throws(Failure) -> [UserID: User] {
        guard !ids.isEmpty else { return [:] }
        return try await read { snapshot in try snapshot.users(ids) }
    }

    /// When each of these people last signed in, by Apple's clock; without those who have not signed in here.
    package func lastSignIns(of ids: Set<UserID>) async throws(Failure) -> [UserID: Timestamp] {
        guard !ids.isEmpty else { return [:] }
        return try await read { snapshot in
            let rows = try snapshot.rows(
                """
                SELECT i.user AS person, max(i.last_sign_in_issued_at) AS time FROM apple_identity i
                WHERE i.last_sign_in_issued_at > ? AND i.user IN (SELECT value FROM json_each(?)) GROUP BY i.user
                """, [ImportedPerson.signInTime, TextList(ids.map(\.rawValue))])
            return Dictionary(uniqueKeysWithValues: try rows.map { (try $0["person"], try $0["time"]) })
        }
    }

    /// The groups that have members, by name; at most `limit`.
    package func groupNames(limit: Int) async throws(Failure) -> [String] {
        try await read { snapshot in
            // One look-up a name, however many members it has.
            try snapshot.rows(
                """
                WITH RECURSIVE found (name) AS (SELECT min(name) FROM user_group
                UNION ALL SELECT (SELECT min(g.name) FROM user_group g WHERE g.name > f.name) FROM found f
                WHERE f.name IS NOT NULL) SELECT name FROM found WHERE name IS NOT NULL LIMIT ?
                """, [limit]
            ).map { try $0["name"] }
        }
    }

    /// How many people are in each group that somebody is in.
    package func groupCounts() async throws(Failure) -> [String: Int] {
        try await readCounting { snapshot in
            let rows = try snapshot.rows("SELECT name, count(*) AS number FROM user_group GROUP BY name")
            return Dictionary(try rows.map { (try $0["name"], try $0["number"]) }) { $1 }
        }
    }

    /// The people with these subjects for `team`.
    package func users(team: TeamID, subjects: Set<AppleSubject>) async throws(Failure) -> [AppleSubject: User] {
        guard !subjects.isEmpty else { return [:] }
        return try await read { snapshot in
            let owners = try snapshot.owners(of: subjects, team: team)
            let users = try snapshot.users(Set(owners.values))
            return owners.compactMapValues { users[$0] }
        }
    }
}

extension Snapshot {
    fileprivate func users(_ ids: Set<UserID>) throws -> [UserID: User] {
        let users = try rows(
            "\(User.all) WHERE u.id IN (SELECT value FROM json_each(?))", [TextList(ids.map(\.rawValue))]
        ).map { try User($0) }
        return Dictionary(users.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
