package import Coding
import Storage

/// Where a page of a list ended: the last user's position by creation, in a search by name after that of the word.
package struct UserCursor: Hashable, Sendable {
    package var createdAt: Timestamp
    package var id: UserID
    package var word: String?
}

/// Selects users; nil values select all.
package struct UserFilter: Hashable, Sendable {
    package var state: User.State?
    package var group: String?
    /// The whole address; ASCII letters match in either case.
    package var email: String?
    /// Beginnings of words of the name (`SearchWords`).
    package var name: String?

    package init(state: User.State? = nil, group: String? = nil, email: String? = nil, name: String? = nil) {
        self.state = state
        self.group = group
        self.email = email
        self.name = name
    }

    package func accepts(_ user: User) -> Bool {
        (state == nil || state == user.state)
            && (group.map { group in user.groups.contains { $0.isExactly(group) } } ?? true)
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

/// Oldest first, or in the order of the words found. May have fewer than `limit` when many had to be scanned.
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
    package var appleIsTold: Bool? {
        if case .deleted(let revocations) = self { revocations > 0 } else { nil }
    }
}

/// Limits on what an application stores with a user.
package enum UserLimits {
    /// Bytes of UTF-8.
    package static let externalID = 255
    package static let groupName = 64
    package static let groups = 64
    package static let pageSize = 200

    package static func accepts(externalID: String) -> Bool { PlainLine.accepts(externalID, maximum: Self.externalID) }

    package static func accepts(groups: [String]) -> Bool {
        groups.count <= Self.groups && Set(groups.map { Array($0.utf8) }).count == groups.count
            && groups.allSatisfy(accepts(group:))
    }

    /// Commas separate groups in the proxy's field.
    package static func accepts(group: String) -> Bool {
        PlainLine.acceptsName(group, maximum: groupName) && !group.utf8.contains(UInt8(ascii: ","))
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

    /// The people whom these subjects mean to `team`.
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
