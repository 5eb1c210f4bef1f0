package import Coding

/// Where a page of a list ended: the last user's place in the order of creation.
package struct UserCursor: Hashable, Sendable {
    package var createdAt: Timestamp
    package var id: UserID

    package init(createdAt: Timestamp, id: UserID) {
        self.createdAt = createdAt
        self.id = id
    }
}

/// Which users a list holds; what is nil does not narrow it.
package struct UserFilter: Hashable, Sendable {
    package var state: User.State?
    package var group: String?
    /// The whole address; letters of ASCII match in either case. Several people may have it.
    package var email: String?

    package init(state: User.State? = nil, group: String? = nil, email: String? = nil) {
        self.state = state
        self.group = group
        self.email = email
    }

    package func accepts(_ user: User) -> Bool {
        (state == nil || state == user.state)
            && (group.map { group in user.groups.contains { $0.isExactly(group) } } ?? true)
            && (email.map { Self.folded($0) == user.email.map { Self.folded($0.address) } } ?? true)
    }

    /// Bytes with the capitals of ASCII made small, as the store compares.
    private static func folded(_ address: String) -> [UInt8] {
        address.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}

/// What a user must still be for a change to be made, asked inside its transaction: no other write comes between.
package typealias UserCondition = @Sendable (User) -> Bool

/// Some users, oldest first, and where the next ones begin.
package struct UserPage: Hashable, Sendable {
    package var items: [User]
    /// Nil when these are the last.
    package var next: UserCursor?

    package init(items: [User], next: UserCursor?) {
        self.items = items
        self.next = next
    }
}

/// What an application or the operator may change of a user; nil leaves a field as it is.
package struct UserPatch: Hashable, Sendable {
    /// The application's own id: set, or with an inner nil taken away.
    package var externalID: String??
    package var groups: [String]?
    /// `active` approves and enables; `disabled` ends every session.
    package var state: User.State?

    package init(externalID: String?? = nil, groups: [String]? = nil, state: User.State? = nil) {
        self.externalID = externalID
        self.groups = groups
        self.state = state
    }

    package var isEmpty: Bool { externalID == nil && groups == nil && state == nil }
}

package enum UserPatchResult: Hashable, Sendable {
    /// The user as they are now; nothing was written and no event recorded when that is what they were.
    case patched(User)
    case unknown
    /// Another user has this external id.
    case externalIDTaken(by: UserID)
    /// The condition does not hold (any more); nothing was written.
    case conditionFailed
}

package enum UserDeletion: Hashable, Sendable {
    /// Nobody has this id, or nobody any more.
    case unknown
    /// The condition does not hold (any more); nothing was written.
    case conditionFailed
    /// Deleted, with this many refresh tokens queued for revocation. With none, Apple is not notified.
    case deleted(revocations: Int)

    /// Whether Apple is told of it; nil when nobody was deleted.
    package var appleIsTold: Bool? {
        if case .deleted(let revocations) = self { revocations > 0 } else { nil }
    }
}

/// Limits of what an application stores with a user.
package enum UserLimits {
    /// UTF-8 bytes.
    package static let externalID = 255
    package static let groupName = 64
    package static let groups = 64
    /// Users in one page of a list.
    package static let pageSize = 200

    /// Whether this may be an external id: 1 to 255 bytes without control characters.
    package static func accepts(externalID: String) -> Bool {
        isPlain(externalID, maximum: Self.externalID)
    }

    /// Whether these may be a user's groups: at most 64 names, each once, of 1 to 64 bytes, without control characters
    /// and commas (the proxy's field separates them by one).
    package static func accepts(groups: [String]) -> Bool {
        groups.count <= Self.groups && Set(groups.map { Array($0.utf8) }).count == groups.count
            && groups.allSatisfy { isPlain($0, maximum: groupName) && !$0.utf8.contains(UInt8(ascii: ",")) }
    }

    private static func isPlain(_ text: String, maximum: Int) -> Bool {
        let count = text.utf8.count
        return count > 0 && count <= maximum
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// Users as the operator's commands and the API find and change them. Writes are one durable transaction each, with
/// their events; after return every look-up in this process sees them, and within a second those of other processes.
package protocol UserDirectory: Sendable {
    /// nil when the user is unknown.
    func accountRecord(of user: UserID, at now: Timestamp) async throws(StoreError) -> AccountRecord?
    /// The user's identities, the one they were created by first; nil when the user is unknown.
    func identities(of user: UserID) async throws(StoreError) -> [AccountRecord.Identity]?
    /// The user with the identity they were created by, or have moved to since; nil when unknown.
    func user(_ id: UserID) async throws(StoreError) -> User?
    func user(externalID: String) async throws(StoreError) -> User?
    func user(team: TeamID, subject: AppleSubject) async throws(StoreError) -> User?
    /// At most `limit` users in the order they were created, after `cursor`.
    func users(_ filter: UserFilter, after cursor: UserCursor?, limit: Int) async throws(StoreError) -> UserPage
    /// - Parameter condition: nil always holds.
    func patchUser(
        _ id: UserID, _ patch: UserPatch, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult
    /// The user's live sessions, newest first.
    func sessions(of user: UserID, at now: Timestamp) async throws(StoreError) -> [Session]
    /// Ends the user's sessions but one; the number of those ended. 0 for an unknown user.
    func endSessions(
        of user: UserID, except kept: SessionID?, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Int
    /// Ends one session if it is this user's; false otherwise.
    func endSession(
        _ id: SessionID, of user: UserID, cause: SessionEndCause, at now: Timestamp
    ) async throws(StoreError) -> Bool
    /// Deletes the user and everything kept about them in one transaction: sessions end, names, addresses and
    /// notification payloads are erased, and each live refresh token is queued for revocation at Apple, under a keyed
    /// hash of the subject. The journal keeps ids.
    /// - Parameter condition: nil always holds.
    func deleteUser(
        _ id: UserID, if condition: UserCondition?, at now: Timestamp
    ) async throws(StoreError) -> UserDeletion
}

extension UserDirectory {
    package func patchUser(
        _ id: UserID, _ patch: UserPatch, at now: Timestamp
    ) async throws(StoreError) -> UserPatchResult {
        try await patchUser(id, patch, if: nil, at: now)
    }

    package func deleteUser(_ id: UserID, at now: Timestamp) async throws(StoreError) -> UserDeletion {
        try await deleteUser(id, if: nil, at: now)
    }
}
