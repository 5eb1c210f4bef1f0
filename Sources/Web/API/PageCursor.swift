import Accounts
import Coding

/// Where a page of a list ended, as text: base64url of a fixed number of bytes, the first of which names the list.
/// Nothing in it is secret and any well-formed one is a position, so it needs no signature.
enum PageCursor {
    private static let users: UInt8 = 1
    private static let events: UInt8 = 2
    private static let deadWebhooks: UInt8 = 3
    private static let sessions: UInt8 = 4
    /// Milliseconds since 1970 in 48 bits: enough until the year 10889.
    private static let timeBytes = 6

    static func encode(_ cursor: UserCursor) -> String {
        encode(users, cursor.createdAt, (cursor.id.packed ?? []) + Array((cursor.word ?? "").utf8))
    }

    static func userCursor(_ text: String) -> UserCursor? {
        guard let (time, bytes) = decode(users, text),
            let id = UserID(packed: Array(bytes.prefix(UserID.packedCount))),
            let word = String(validating: bytes.dropFirst(UserID.packedCount), as: UTF8.self), PlainLine.isPlain(word)
        else { return nil }
        return UserCursor(createdAt: time, id: id, word: word.isEmpty ? nil : word)
    }

    static func encode(_ cursor: SessionCursor) -> String { encode(sessions, cursor.time, cursor.id.packed ?? []) }

    static func sessionCursor(_ text: String) -> SessionCursor? {
        guard let (time, bytes) = decode(sessions, text), let id = SessionID(packed: bytes) else { return nil }
        return SessionCursor(time: time, id: id)
    }

    private static func encode(_ list: UInt8, _ time: Timestamp, _ rest: [UInt8]) -> String {
        let time = [UInt8](bigEndian: UInt64(clamping: time.milliseconds))
        return Base64URL.encode([list] + time.suffix(timeBytes) + rest)
    }

    private static func decode(_ list: UInt8, _ text: String) -> (time: Timestamp, rest: [UInt8])? {
        guard let bytes = Base64URL.decode(text), bytes.first == list, bytes.count > 1 + timeBytes else { return nil }
        let time = Int64(bigEndianBytes: bytes[1...timeBytes])
        return (Timestamp(milliseconds: time), Array(bytes[(1 + timeBytes)...]))
    }

    static func encode(_ place: EventPlace) -> String {
        switch place {
        case .event(let id): id.rawValue
        case .sequence(let sequence): Base64URL.encode([events] + [UInt8](bigEndian: UInt64(clamping: sequence)))
        }
    }

    /// A cursor of ours, or the id of an event, from which a client that learned of it otherwise can continue.
    static func eventPlace(_ text: String) -> EventPlace? {
        if let id = EventID(parsing: text) { return .event(id) }
        guard let bytes = Base64URL.decode(text), bytes.first == events, bytes.count == 9, bytes[1] < 0x80 else {
            return nil
        }
        return .sequence(Int64(bigEndianBytes: bytes[1...]))
    }

    static func encode(_ place: DeadWebhookPlace) -> String {
        let numbers = [place.diedAt.milliseconds, place.sequence, place.endpoint.rawValue]
        return Base64URL.encode([deadWebhooks] + numbers.flatMap { [UInt8](bigEndian: UInt64(clamping: $0)) })
    }

    static func deadWebhook(_ text: String) -> DeadWebhookPlace? {
        guard let bytes = Base64URL.decode(text), bytes.first == deadWebhooks, bytes.count == 25 else { return nil }
        let numbers = stride(from: 1, to: 25, by: 8).map { start in
            UInt64(bigEndianBytes: bytes[start..<(start + 8)])
        }
        guard numbers.allSatisfy({ $0 <= UInt64(Int64.max) }) else { return nil }
        return DeadWebhookPlace(
            diedAt: Timestamp(milliseconds: Int64(numbers[0])), sequence: Int64(numbers[1]),
            endpoint: WebhookEndpointID(Int64(numbers[2])))
    }
}
