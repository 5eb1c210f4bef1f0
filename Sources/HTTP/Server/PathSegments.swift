internal import Coding

/// A request path split and decoded, so strictly that no two readers can disagree about it.
package enum PathSegments {
    /// More segments than any route has.
    static let maximum = 32

    /// The decoded segments of an absolute path. `/` and the empty path have none.
    /// - Throws: `.malformedPath` for invalid escapes, escapes of a separator or control character, invalid UTF-8 and dot
    ///   segments; `.notFound` for an empty segment, which no route of ours has.
    package static func parse(_ path: String) throws(RoutingFailure) -> [String] {
        guard path != "/", !path.isEmpty else { return [] }
        let bytes = Array(path.utf8)
        guard bytes[0] == ASCII.slash else { throw .malformedPath }
        var segments: [String] = []
        var segment: [UInt8] = []
        var sawEmpty = false
        var index = 1
        while index <= bytes.count {
            if index == bytes.count || bytes[index] == ASCII.slash {
                if segment.isEmpty { sawEmpty = true }
                segments.append(try text(segment))
                segment.removeAll(keepingCapacity: true)
                index += 1
                continue
            }
            segment.append(try decoded(bytes, &index))
        }
        // Thrown only now: a malformed path is malformed whatever else it is.
        guard !sawEmpty, segments.count <= maximum else { throw .notFound }
        return segments
    }

    private static func decoded(_ bytes: [UInt8], _ index: inout Int) throws(RoutingFailure) -> UInt8 {
        var byte = bytes[index]
        index += 1
        if byte == ASCII.percent {
            guard let escaped = PercentEncoding.escapedByte(in: bytes.span, at: index - 1), escaped != ASCII.slash
            else { throw .malformedPath }
            byte = escaped
            index += 2
        }
        // Some readers treat a backslash as a separator; no path needs control characters.
        guard byte >= 0x20, byte != ASCII.delete, byte != 0x5c else { throw .malformedPath }
        return byte
    }

    private static func text(_ bytes: [UInt8]) throws(RoutingFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self), text != ".", text != ".." else {
            throw .malformedPath
        }
        return text
    }
}
