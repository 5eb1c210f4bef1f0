import Coding
import Crypto
import RelyingParty

extension Row {
    func text(_ index: Int) throws(StoreError) -> String {
        guard let value = self[index] as String? else { throw .corrupt("a text is null") }
        return value
    }

    func bytes(_ index: Int) throws(StoreError) -> [UInt8] {
        guard let value = self[index] as [UInt8]? else { throw .corrupt("a blob is null") }
        return value
    }

    func digest(_ index: Int) throws(StoreError) -> Digest256 {
        guard let digest = Digest256(bytes: try bytes(index)) else { throw .corrupt("a digest is not 32 bytes") }
        return digest
    }

    func moment(_ index: Int) throws(StoreError) -> Timestamp {
        guard let value = self[index] as Int64? else { throw .corrupt("a time is null") }
        return Timestamp(milliseconds: value)
    }

    func value<Value: RawRepresentable<String>>(_ index: Int, as type: Value.Type = Value.self) throws(StoreError)
        -> Value
    {
        let text = try text(index)
        guard let value = Value(rawValue: text) else { throw .corrupt("\(type) reads \(text)") }
        return value
    }
}

/// The columns of a session, in the order `Session.init(row:)` reads them.
enum SessionColumns {
    static let list = """
        s.token_hash, s.id, s.kind, s.user, s.client_id, s.user_agent, s.address, s.issued_at, s.created_at, \
        s.last_seen_at, s.expires_at
        """
    static let count = 11
}

extension Session {
    init(row: Row) throws(StoreError) {
        self.init(
            id: SessionID(unchecked: try row.text(1)), tokenHash: try row.digest(0), kind: try row.value(2),
            user: UserID(unchecked: try row.text(3)), clientID: ClientID(try row.text(4)),
            device: Device(userAgent: try row.text(5), address: try row.text(6)), issuedAt: try row.moment(7),
            createdAt: try row.moment(8), lastSeenAt: try row.moment(9), expiresAt: try row.moment(10))
    }
}

/// The columns of a user joined with one of their identities, in the order `User.init(row:from:)` reads them.
enum UserColumns {
    static let list = """
        u.id, u.state, u.external_id, u.groups, u.given_name, u.family_name, u.email, u.email_verified, \
        u.email_private, u.email_forwarding, u.real_user_status, u.created_at, i.subject, \
        \(CredentialColumns.list), \(CredentialColumns.others)
        """
    static let count = 17
}

extension User {
    /// - Parameter offset: the index of the first column.
    init(row: Row, from offset: Int = 0) throws(StoreError) {
        var email: EmailAddress?
        if let address = row[offset + 6] as String? {
            email = EmailAddress(
                address: address, isVerified: row[offset + 7] as Bool? ?? false,
                isPrivate: row[offset + 8] as Bool? ?? false)
        }
        var status: RealUserStatus?
        if row.hasNull(atIndex: offset + 10) == false { status = try row.value(offset + 10) }
        self.init(
            id: UserID(unchecked: try row.text(offset)), state: try row.value(offset + 1),
            externalID: row[offset + 2] as String?, groups: try StringList.decode(try row.text(offset + 3)),
            name: PersonName(given: row[offset + 4] as String?, family: row[offset + 5] as String?), email: email,
            emailForwarding: row[offset + 9] as Bool?, realUserStatus: status,
            appleSubject: AppleSubject(try row.text(offset + 12)),
            credential: try CredentialStatus(row: row, from: offset + 13),
            otherCredentials: try CredentialStatus.others(row[offset + 16] as String?),
            createdAt: try row.moment(offset + 11))
    }
}

/// A list of texts in one column, as a JSON array.
enum StringList {
    static func encode(_ list: [String]) -> String {
        if list.isEmpty { return "[]" }
        return String(decoding: JSONWriter.encode(.array(list.map { .string($0) })), as: UTF8.self)
    }

    static func decode(_ text: String) throws(StoreError) -> [String] {
        if text == "[]" { return [] }
        guard let value = try? JSONReader.parse(Array(text.utf8)), let items = value.arrayValue else {
            throw .corrupt("a list is not a JSON array")
        }
        var list: [String] = []
        for item in items {
            guard let text = item.stringValue else { throw .corrupt("a list holds no texts") }
            list.append(text)
        }
        return list
    }
}
