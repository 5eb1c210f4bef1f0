package import HTTPTypes

/// The method of a request; those with a meaning here are distinguished while parsing.
package enum RequestMethod: UInt8, Hashable, Sendable {
    case get, head, post, put, delete, options, patch, trace
    /// Any other token.
    case other
}

/// How the content of a message ends (RFC 9112 §6.3).
package enum BodyFraming: Hashable, Sendable {
    case none
    case length(Int)
    case chunked
    /// When the connection closes; responses only.
    case untilClose
}

/// A parsed request head, as ranges in the bytes it was parsed from: nothing is copied until it is needed.
package struct RequestHead: Sendable {
    package internal(set) var method = RequestMethod.other
    package internal(set) var methodRange = ByteRange.empty
    /// The whole request target as sent.
    package internal(set) var target = ByteRange.empty
    /// The path of the target, still percent-encoded. Empty means `/`; `*` for the asterisk-form.
    package internal(set) var path = ByteRange.empty
    /// The part after the first `?`; nil when there is none.
    package internal(set) var query: ByteRange?
    /// Of an absolute target, otherwise of `Host`. Nil only when an HTTP/1.0 request names none.
    package internal(set) var authority: ByteRange?
    /// Whether the target is absolute and says `https`.
    package internal(set) var isForHTTPS = false
    /// 0 or 1. A higher minor version is treated as 1 (RFC 9110 §2.5).
    package internal(set) var minorVersion: UInt8 = 1
    package internal(set) var fields: [FieldRange] = []
    package internal(set) var framing = BodyFraming.none
    /// Whether the connection may serve another request after this one (RFC 9112 §9.3).
    package internal(set) var keepAlive = true
    /// Whether the client waits for `100 Continue` before it sends the content (RFC 9110 §10.1.1).
    package internal(set) var expectsContinue = false

    package init() { fields.reserveCapacity(24) }

    package func first(_ known: KnownField) -> FieldRange? {
        for field in fields where field.known == known { return field }
        return nil
    }

    package func count(of known: KnownField) -> Int {
        var count = 0
        for field in fields where field.known == known { count += 1 }
        return count
    }

    mutating func reset() {
        method = .other
        query = nil
        authority = nil
        isForHTTPS = false
        path = .empty
        minorVersion = 1
        fields.removeAll(keepingCapacity: true)
        framing = .none
        keepAlive = true
        expectsContinue = false
    }

    /// The request in HTTPTypes' terms. `Host` becomes the authority and is no longer a field; `:path` is the
    /// origin-form of the target (`*` for the asterisk-form), whichever form was sent.
    /// - Parameters:
    ///   - bytes: the bytes the head was parsed from.
    ///   - scheme: `http` or `https`, as the connection is.
    package func makeRequest(_ bytes: Span<UInt8>, scheme: String = "http") -> HTTPRequest {
        var headerFields = HTTPFields()
        headerFields.reserveCapacity(fields.count)
        for field in fields where field.known != .host {
            if let name = field.name(in: bytes) {
                headerFields.append(HTTPField(name: name, value: field.value.string(in: bytes)))
            }
        }
        return HTTPRequest(
            method: httpMethod(in: bytes), scheme: scheme, authority: authority?.string(in: bytes),
            path: originForm(in: bytes), headerFields: headerFields)
    }

    package func httpMethod(in bytes: Span<UInt8>) -> HTTPRequest.Method {
        switch method {
        case .get: .get
        case .head: .head
        case .post: .post
        case .put: .put
        case .delete: .delete
        case .options: .options
        case .patch: .patch
        case .trace: .trace
        // The parser accepts only tokens; the fallback keeps this total.
        case .other: HTTPRequest.Method(methodRange.string(in: bytes)) ?? .trace
        }
    }

    /// Path and query, `/` for an absolute target without a path (RFC 9112 §3.2.1).
    package func originForm(in bytes: Span<UInt8>) -> String {
        if path.isEmpty {
            // RFC 9112 §3.2.4: the last proxy of an OPTIONS for the whole server sends the asterisk.
            if method == .options, query == nil { return "*" }
            return query.map { "/?" + $0.string(in: bytes) } ?? "/"
        }
        let end = query.map { Int($0.end) } ?? Int(path.end)
        return ByteRange(Int(path.start), end).string(in: bytes)
    }
}

extension FieldRange {
    /// The field's name; never nil for a field that a parser accepted.
    func name(in bytes: Span<UInt8>) -> HTTPField.Name? {
        known == .other ? HTTPField.Name(name.string(in: bytes)) : known.name
    }
}

/// A half-open range in the bytes a head was parsed from.
package struct ByteRange: Hashable, Sendable {
    package var start: UInt32
    package var end: UInt32

    package static let empty = ByteRange(0, 0)

    /// - Precondition: both fit into 32 bits; a head never comes near.
    package init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }

    package var count: Int { Int(end) - Int(start) }
    package var isEmpty: Bool { start == end }
    package var range: Range<Int> { Int(start)..<Int(end) }

    /// Those bytes as text; invalid UTF-8 becomes U+FFFD.
    package func string(in bytes: Span<UInt8>) -> String {
        let part = bytes.extracting(range)
        if let text = try? UTF8Span(validating: part) { return String(copying: text) }
        return String(decoding: array(in: bytes), as: UTF8.self)
    }

    package func array(in bytes: Span<UInt8>) -> [UInt8] {
        let range = self.range
        return [UInt8](capacity: range.count) { output in
            for index in range { output.append(bytes[index]) }
        }
    }
}
