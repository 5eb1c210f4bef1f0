import Sockets

/// `uri-host [ ":" port ]` in `Host` and in the authority of an absolute target (RFC 9110 §7.2).
///
/// Narrower than the grammar on purpose: a registered name consists of letters, digits, `-`, `.`, `_` and `~`. Percent
/// escapes and sub-delimiters occur in no host in use, and readers disagree about each.
enum HostSyntax {
    static func isValid(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var index = range.lowerBound
        let end = range.upperBound
        guard index < end else { return false }
        if bytes[index] == ASCII.leftBracket {
            index += 1
            let start = index
            while index < end, bytes[index] != ASCII.rightBracket { index += 1 }
            guard index < end else { return false }
            let literal = bytes.extracting(start..<index)
            guard isColonSeparated(literal), IPAddress(text: literal) != nil else { return false }
            index += 1
        } else {
            let names = ByteClass.hostName
            let start = index
            while index < end, names.contains(bytes[index]) { index &+= 1 }
            guard index > start, index - start <= 255 else { return false }
        }
        guard index < end else { return true }
        guard bytes[index] == ASCII.colon else { return false }
        return isPort(bytes, index + 1, end)
    }

    /// An IPv4 address in brackets is not an `IP-literal`.
    private static func isColonSeparated(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices where bytes[index] == ASCII.colon { return true }
        return false
    }

    /// `*DIGIT` (RFC 3986 §3.2.3), empty allowed, at most 65535.
    private static func isPort(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard end - start <= 5 else { return false }
        var port = 0
        var index = start
        while index < end {
            let byte = bytes[index]
            guard byte >= ASCII.zero, byte <= ASCII.nine else { return false }
            port = port * 10 + Int(byte - ASCII.zero)
            index += 1
        }
        return port <= 65_535
    }
}
