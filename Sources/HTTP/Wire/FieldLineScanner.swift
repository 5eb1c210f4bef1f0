/// One field line of a head: the ranges of its name and value.
package struct FieldRange: Hashable, Sendable {
    package var name: ByteRange
    /// Without the surrounding whitespace.
    package var value: ByteRange
    package var known: KnownField
}

/// Reads field lines (RFC 9112 §5) up to the empty line, resumable at any byte.
struct FieldLineScanner: Sendable {
    enum Event {
        /// `last` is one more field.
        case field
        /// The empty line was read; `position` is just after it.
        case end
        case needsMore
    }

    private enum State: UInt8 {
        case lineStart, name, valueStart, value, lineFeed, finalLineFeed
    }

    private let names = KnownFieldNames.shared
    private var state = State.lineStart
    private(set) var position = 0
    private var nameStart = 0
    private var valueStart = 0
    private(set) var last = FieldRange(name: .empty, value: .empty, known: .other)

    mutating func start(at position: Int) {
        state = .lineStart
        self.position = position
    }

    /// Reads to the end of the next line.
    /// - Parameter limit: the offset at which the block must have ended.
    mutating func next(_ bytes: Span<UInt8>, limit: Int) throws(WireError) -> Event {
        let end = min(bytes.count, limit)
        var index = position
        while index < end {
            switch state {
            case .lineStart:
                let byte = bytes[index]
                if byte == ASCII.carriageReturn {
                    index &+= 1
                    state = .finalLineFeed
                    continue
                }
                try Self.checkFirst(byte)
                nameStart = index
                state = .name
                fallthrough

            case .name:
                let token = ByteClass.token
                while index < end, token.contains(bytes[index]) { index &+= 1 }
                guard index < end else { break }
                guard bytes[index] == ASCII.colon else { throw Self.nameError(bytes[index]) }
                last.name = ByteRange(nameStart, index)
                last.known = names.field(in: bytes, nameStart, index)
                index &+= 1
                state = .valueStart
                guard index < end else { break }
                fallthrough

            case .valueStart:
                while index < end, ByteClass.isBlank(bytes[index]) { index &+= 1 }
                guard index < end else { break }
                valueStart = index
                state = .value
                fallthrough

            case .value:
                while index < end, ByteClass.isFieldValue(bytes[index]) { index &+= 1 }
                guard index < end else { break }
                guard bytes[index] == ASCII.carriageReturn else {
                    throw bytes[index] == ASCII.lineFeed ? .bareLineFeed : .invalidFieldValue
                }
                var valueEnd = index
                while valueEnd > valueStart, ByteClass.isBlank(bytes[valueEnd &- 1]) { valueEnd &-= 1 }
                last.value = ByteRange(valueStart, valueEnd)
                index &+= 1
                state = .lineFeed
                guard index < end else { break }
                fallthrough

            case .lineFeed:
                guard bytes[index] == ASCII.lineFeed else { throw .bareCarriageReturn }
                position = index &+ 1
                state = .lineStart
                return .field

            case .finalLineFeed:
                guard bytes[index] == ASCII.lineFeed else { throw .bareCarriageReturn }
                position = index &+ 1
                return .end
            }
        }
        position = index
        // The unfinished line fills the block: waiting for more would change nothing.
        guard index < limit else { throw .headerTooLarge }
        return .needsMore
    }

    /// A line begins with a name; RFC 9112 §5.2 forbids continuing the previous one.
    private static func checkFirst(_ byte: UInt8) throws(WireError) {
        switch byte {
        case ASCII.space, ASCII.tab: throw .obsoleteFolding
        case ASCII.lineFeed: throw .bareLineFeed
        case ASCII.colon: throw .emptyFieldName
        default: return
        }
    }

    private static func nameError(_ byte: UInt8) -> WireError {
        switch byte {
        case ASCII.space, ASCII.tab: .spaceBeforeColon
        case ASCII.lineFeed: .bareLineFeed
        default: .invalidFieldName
        }
    }
}
