import HTTP

/// Cheap checks of a proxy's values: what passes here passes `OriginalRequest`, which examines the rest.
extension VerifyFastPath {
    func isPlain(_ known: KnownField, _ bytes: Span<UInt8>, _ place: ByteRange) -> Bool {
        let range = place.range
        switch known {
        case .xForwardedProto: return isScheme(bytes, range)
        case .xForwardedHost: return isHost(bytes, range)
        case .xForwardedURI: return isTarget(bytes, range)
        case .xForwardedMethod, .xOriginalMethod: return isMethod(bytes, range)
        case .xOriginalURL, .xOriginalURI: return isURL(bytes, range) || isTarget(bytes, range)
        default: return false
        }
    }

    private func isScheme(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        equals(bytes, range, "https") || equals(bytes, range, "http")
    }

    private func isMethod(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, range.count <= 8 else { return false }
        for index in range {
            guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) else { return false }
        }
        return true
    }

    /// A registered name without a port.
    private func isHost(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, range.count <= 253 else { return false }
        for index in range {
            switch bytes[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                continue
            default: return false
            }
        }
        return true
    }

    /// A path without escapes or segments that begin with a dot, and a plain query: unreserved, escapes, `=`, `&`.
    private func isTarget(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, bytes[range.lowerBound] == UInt8(ascii: "/") else { return false }
        var isQuery = false
        var isSegmentStart = false
        for index in range {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                isSegmentStart = false
            case UInt8(ascii: "."):
                guard !isSegmentStart || isQuery else { return false }
            case UInt8(ascii: "/"):
                guard !isSegmentStart || isQuery else { return false }
                isSegmentStart = true
            case UInt8(ascii: "?"):
                guard !isQuery else { return false }
                isQuery = true
            case UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "%"):
                guard isQuery else { return false }
            default: return false
            }
        }
        return true
    }

    private func isURL(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var start = range.lowerBound
        for scheme in ["https://", "http://"] {
            let end = range.lowerBound + scheme.utf8.count
            if end <= range.upperBound, equals(bytes, range.lowerBound..<end, scheme) { start = end }
        }
        guard start > range.lowerBound else { return false }
        var slash = start
        while slash < range.upperBound, bytes[slash] != UInt8(ascii: "/") { slash += 1 }
        return isHost(bytes, start..<slash) && isTarget(bytes, slash..<range.upperBound)
    }

    private func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: String) -> Bool {
        guard range.count == text.utf8.count else { return false }
        var index = range.lowerBound
        for byte in text.utf8 {
            guard bytes[index] == byte else { return false }
            index += 1
        }
        return true
    }
}
