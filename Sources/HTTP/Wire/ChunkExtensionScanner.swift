/// Reads the extensions of one chunk-size line, from after their first semicolon to the CR that ends the line:
/// `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )` (RFC 9112 §7.1.1).
///
/// Nobody acts on them, but the grammar is enforced: where one reader guesses, another guesses differently, and they
/// disagree about where the chunk begins.
struct ChunkExtensionScanner: Sendable {
    private enum State: UInt8 {
        case nameStart, name, nameBlank
        case valueStart, value, quoted, escaped, valueEnd, valueBlank
    }

    private var state = State.nameStart

    /// Reads one byte.
    /// - Returns: whether it was the CR after a complete extension.
    mutating func read(_ byte: UInt8) throws(WireError) -> Bool {
        switch state {
        case .name where ByteClass.token.contains(byte), .value where ByteClass.token.contains(byte):
            break
        case .nameStart where ByteClass.token.contains(byte):
            state = .name
        case .valueStart where ByteClass.token.contains(byte):
            state = .value
        case .nameStart where Self.isBlank(byte), .valueStart where Self.isBlank(byte):
            break
        case .valueStart where byte == ASCII.quote:
            state = .quoted
        case .quoted where byte == ASCII.quote:
            state = .valueEnd
        case .quoted where byte == ASCII.backslash:
            state = .escaped
        case .quoted where ByteClass.isFieldValue(byte), .escaped where ByteClass.isFieldValue(byte):
            state = .quoted
        case .name, .nameBlank, .value, .valueEnd, .valueBlank:
            return try endWord(byte)
        default:
            throw Self.error(byte)
        }
        return false
    }

    /// What may follow a name or a value.
    private mutating func endWord(_ byte: UInt8) throws(WireError) -> Bool {
        let isName = state == .name || state == .nameBlank
        switch byte {
        case ASCII.semicolon: state = .nameStart
        case ASCII.equals where isName: state = .valueStart
        case ASCII.space, ASCII.tab: state = isName ? .nameBlank : .valueBlank
        // Whitespace must be followed by something.
        case ASCII.carriageReturn where state != .nameBlank && state != .valueBlank: return true
        default: throw Self.error(byte)
        }
        return false
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte == ASCII.tab
    }

    private static func error(_ byte: UInt8) -> WireError {
        byte == ASCII.lineFeed ? .bareLineFeed : .invalidChunkExtension
    }
}
