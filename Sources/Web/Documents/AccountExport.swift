package import Accounts
package import Coding

/// Everything stored about a person, as JSON in pieces; for `GET /account/export` and `bramley users export`.
package struct AccountExport: Sendable {
    /// Items read at once.
    private static let page = 100

    private let record: AccountRecord
    private let readPage: Reading
    private let now: Timestamp
    private var writer = JSONWriter(reserving: 4096)
    private var identities: ArraySlice<AccountRecord.Identity>
    private var items: ArraySlice<AccountItem> = []
    /// The lists after the open one.
    private var rest = AccountList.allCases[...]
    private var current: AccountList?
    private var place: AccountPlace?
    private var isDone = false

    /// Reads a page of a list of the person's; nil when the person no longer exists.
    package typealias Reading =
        @Sendable (
            _ list: AccountList, _ place: AccountPlace?, _ limit: Int
        ) async throws(Failure) -> Page<AccountItem, AccountPlace>?

    /// - Parameter now: when the record was read.
    package init(_ record: AccountRecord, _ database: Database, at now: Timestamp) {
        let id = record.user.id
        self.init(record, at: now) { (list, place, limit) async throws(Failure) in
            try await database.accountPage(list, of: id, after: place, limit: limit, at: now)
        }
    }

    package init(_ record: AccountRecord, at now: Timestamp, reading: @escaping Reading) {
        self.record = record
        readPage = reading
        self.now = now
        identities = record.identities[...]
        begin()
    }

    /// The next piece; nil at the end.
    package mutating func next() async throws(Failure) -> [UInt8]? {
        guard !isDone else { return nil }
        while writer.bytes.count < Pieces.size {
            if let identity = identities.popFirst() {
                Self.write(identity, to: &writer)
            } else if let item = items.popFirst() {
                Self.write(item, to: &writer)
            } else if let current, place != nil {
                try await read(current)
            } else {
                writer.endArray()
                current = rest.popFirst()
                guard let list = current else {
                    writer.endObject()
                    isDone = true
                    break
                }
                writer.name(list.rawValue)
                writer.beginArray()
                try await read(list)
            }
        }
        return writer.takeBytes()
    }

    private mutating func begin() {
        writer.beginObject()
        writer.member("exportedAt", now)
        writer.member("complete", record.isComplete)
        writer.name("user")
        writer.write(record.user, User.fields)
        writer.member("updatedAt", record.updatedAt)
        writer.member("emailForwardingChangedAt", record.emailForwardingChangedAt)
        writer.name("appleIdentities")
        writer.beginArray()
    }

    private mutating func read(_ list: AccountList) async throws(Failure) {
        guard let page = try await readPage(list, place, Self.page) else {
            throw Failure(.unavailable, "the user was deleted during the export")
        }
        items = page.items[...]
        place = page.next
    }

    private static func write(_ item: AccountItem, to writer: inout JSONWriter) {
        switch item {
        case .session(let session): writer.write(session, Session.fields + [Field("issuedAt") { .time($0.issuedAt) }])
        case .program(let program): writer.write(program, programs)
        case .participant(let participant): writer.write(participant, participants)
        case .consent(let consent): writer.write(consent, Consent.fields)
        case .notification(let notification): writer.write(notification, notifications)
        case .event(let event): event.write(to: &writer)
        }
    }

    private static func write(_ identity: AccountRecord.Identity, to writer: inout JSONWriter) {
        writer.object { writer in
            identity.writeMembers(to: &writer)
            let name = identity.unfinishedName.map { name -> [FieldValue.Member] in
                [
                    ("given", .text(name.given)), ("family", .text(name.family)),
                    ("savedAt", .time(identity.unfinishedSince)),
                ]
            }
            writer.member("unfinishedName", .object(name))
        }
    }

    private static let programs: [Field<AccountRecord.Program>] = [
        Field("clientID") { .code($0.clientID) }, Field("scope") { .text($0.scopes.joined(separator: " ")) },
        Field("services") { .texts($0.services) }, Field("redirectURI") { .text($0.redirectURI) },
        Field("session") { .code($0.session.rawValue) },
        Field("signedInAt") { .time($0.signedInAt) }, Field("expiresAt") { .time($0.expiresAt) },
        Field("offline") { .flag($0.isOffline) },
    ]

    private static let participants: [Field<AccountRecord.Participant>] = [
        Field("clientID") { .code($0.clientID) }, Field("session") { .code($0.session.rawValue) },
    ]

    private static let notifications: [Field<AccountRecord.Notification>] = [
        Field("type") { .text($0.type) }, Field("clientID") { .code($0.clientID?.rawValue) },
        Field("eventTime") { .time($0.eventTime) }, Field("receivedAt") { .time($0.receivedAt) },
        Field("outcome") { .text($0.outcome) },
    ]
}
