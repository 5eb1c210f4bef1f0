package import Coding

/// A page of a list, and the position where the next begins.
package struct Page<Item: Sendable, Place: Sendable>: Sendable {
    package var items: [Item]
    /// Nil on the last page.
    package var next: Place?

    package init(items: [Item] = [], next: Place? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable, Place: Equatable {}
extension Page: Hashable where Item: Hashable, Place: Hashable {}

extension Page where Place == String {
    /// A page of a list that is read as a whole, after the item with the ID `place`; an unknown ID starts over.
    package init(of all: [Item], after place: String?, limit: Int, by id: (Item) -> String) {
        let start = place.flatMap { place in all.firstIndex { id($0).isExactly(place) } }.map { $0 + 1 } ?? 0
        let items = Array(all[start...].prefix(limit))
        self.init(items: items, next: start + items.count < all.count ? items.last.map(id) : nil)
    }
}

/// Encodes positions in a list as text, for requests of the next page: base64url of bytes, the first of which
/// identifies the list. Positions are not secret and any well-formed one is valid, so they need no signature.
package struct Places<Place: Sendable>: Sendable {
    package let text: @Sendable (Place) -> String
    /// Nil for text that is not a position in this list.
    package let place: @Sendable (String) -> Place?
}

/// The lists, by the first byte of their positions.
package enum PlaceMark: UInt8 {
    case users = 1
    case events, deadWebhooks, sessions, notifications, links, audit, revocations, unmoved, clients, apiKeys, groups
    case services

    /// Nil for text that is not a position in any list.
    package init?(of text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count > 1 else { return nil }
        self.init(rawValue: bytes[0])
    }
}

extension Places {
    private init(
        _ mark: PlaceMark, _ pack: @escaping @Sendable (Place) -> [UInt8],
        _ unpack: @escaping @Sendable (ArraySlice<UInt8>) -> Place?
    ) {
        text = { Base64URL.encode([mark.rawValue] + pack($0)) }
        place = { text in
            guard let bytes = Base64URL.decode(text), bytes.first == mark.rawValue else { return nil }
            return unpack(bytes.dropFirst())
        }
    }

    /// Positions in a list ordered by time, then by the remaining bytes.
    private init(
        _ mark: PlaceMark, _ pack: @escaping @Sendable (Place) -> (Timestamp, [UInt8]),
        _ unpack: @escaping @Sendable (Timestamp, [UInt8]) -> Place?
    ) {
        // Milliseconds since 1970 in 48 bits: enough until the year 10889.
        let size = 6
        self.init(
            mark,
            { place in
                let (time, rest) = pack(place)
                return [UInt8](bigEndian: UInt64(clamping: time.milliseconds)).suffix(size) + rest
            },
            { bytes in
                guard bytes.count > size else { return nil }
                let time = Timestamp(milliseconds: Int64(bigEndianBytes: bytes.prefix(size)))
                return unpack(time, Array(bytes.dropFirst(size)))
            })
    }
}

extension Places<UserCursor> {
    package static var users: Places {
        Places(.users) {
            ($0.time, ($0.id.packed ?? []) + Array(($0.word ?? "").utf8))
        } _: { time, bytes in
            guard let id = UserID(packed: Array(bytes.prefix(UserID.packedCount))),
                let word = String(validating: bytes.dropFirst(UserID.packedCount), as: UTF8.self),
                PlainLine.isPlain(word)
            else { return nil }
            return UserCursor(time: time, id: id, word: word.isEmpty ? nil : word)
        }
    }
}

extension Places<SessionCursor> {
    package static var sessions: Places {
        Places(.sessions) {
            ($0.time, $0.id.packed ?? [])
        } _: { time, bytes in
            SessionID(packed: bytes).map { SessionCursor(time: time, id: $0) }
        }
    }
}

extension Places<EventPlace> {
    /// Also accepts the ID of an event, from which a client that learned of it elsewhere can continue.
    package static var events: Places {
        let numbers = Places<Int64>.numbers(.events)
        return Places(
            text: { place in
                switch place {
                case .event(let id): id.rawValue
                case .sequence(let sequence): numbers.text(sequence)
                }
            }, place: { text in EventID(parsing: text).map { .event($0) } ?? numbers.place(text).map { .sequence($0) } }
        )
    }
}

extension Places<DeadWebhookPlace> {
    package static var deadWebhooks: Places {
        Places(.deadWebhooks) { place in
            [place.diedAt.milliseconds, place.sequence, place.endpoint.rawValue].flatMap {
                [UInt8](bigEndian: UInt64(clamping: $0))
            }
        } _: { bytes in
            guard bytes.count == 24 else { return nil }
            let numbers = stride(from: 0, to: 24, by: 8).map { UInt64(bigEndianBytes: bytes.dropFirst($0).prefix(8)) }
            guard numbers.allSatisfy({ $0 <= UInt64(Int64.max) }) else { return nil }
            return DeadWebhookPlace(
                diedAt: Timestamp(milliseconds: Int64(numbers[0])), sequence: Int64(numbers[1]),
                endpoint: WebhookEndpointID(Int64(numbers[2])))
        }
    }
}

/// A position in a list ordered by time and ID.
package struct TimedPlace: Hashable, Sendable {
    package var time: Timestamp
    package var id: String
}

extension Places<TimedPlace> {
    package static var notifications: Places { timed(.notifications) }
    package static var links: Places { timed(.links) }
    package static var unmoved: Places { timed(.unmoved) }

    private static func timed(_ mark: PlaceMark) -> Places {
        Places(mark) {
            ($0.time, Array($0.id.utf8))
        } _: { time, bytes in
            String(validating: bytes, as: UTF8.self).map { TimedPlace(time: time, id: $0) }
        }
    }
}

extension Places<Int64> {
    package static var audit: Places { numbers(.audit) }
    package static var revocations: Places { numbers(.revocations) }

    fileprivate static func numbers(_ mark: PlaceMark) -> Places {
        Places(mark) {
            [UInt8](bigEndian: UInt64(clamping: $0))
        } _: { bytes in
            guard bytes.count == 8, let first = bytes.first, first < 0x80 else { return nil }
            return Int64(bigEndianBytes: bytes)
        }
    }
}

extension Places<String> {
    package static var clients: Places { names(.clients) }
    package static var services: Places { names(.services) }
    package static var apiKeys: Places { names(.apiKeys) }
    package static var groups: Places { names(.groups) }

    private static func names(_ mark: PlaceMark) -> Places {
        Places(mark) {
            Array($0.utf8)
        } _: { bytes in
            String(validating: bytes, as: UTF8.self)
        }
    }
}
