package import HTTPTypes

/// Appends requests to a buffer (RFC 9112 §3): the client's side.
package enum RequestSerializer {
    /// Appends request line, `Host`, fields and the empty line; nothing on an error. Cookies become one line.
    /// - Parameters:
    ///   - target: origin-form, percent-encoded.
    ///   - host: the value of `Host`: the port unless it is the scheme's default.
    ///   - contentLength: nil when the method has no content; a POST without content passes 0 (RFC 9110 §8.6).
    /// - Throws: `.malformed`, for a target with a space, a control character or non-ASCII, an invalid host, or a value
    ///   with CR, LF or NUL. Callers pass our own values, so this is a programming error.
    package static func appendHead(
        method: HTTPRequest.Method, target: String, host: String, fields: HTTPFields, contentLength: Int?,
        into output: inout [UInt8]
    ) throws(HTTPClientError) {
        guard target.utf8.first == ASCII.slash, target.utf8.allSatisfy({ ByteClass.query.contains($0) }) else {
            throw .malformed("request: target")
        }
        let hostBytes = Array(host.utf8)
        guard HostSyntax.isValid(hostBytes.span, 0..<hostBytes.count) else { throw .malformed("request: host") }
        let start = output.count
        output.append(contentsOf: method.rawValue.utf8)
        output.append(ASCII.space)
        output.append(contentsOf: target.utf8)
        output.append(contentsOf: " HTTP/1.1\r\nHost: ".utf8)
        output.append(contentsOf: hostBytes)
        output.append(contentsOf: "\r\n".utf8)
        var hasCookies = false
        for var field in fields where !isOurs(field.name) {
            if field.name == .cookie {
                // RFC 6265 §5.4: one field, into however many `HTTPFields` split it (as HTTP/2 prefers).
                if hasCookies { continue }
                hasCookies = true
                field.value = fields[values: .cookie].joined(separator: "; ")
            }
            guard ResponseSerializer.appendField(field, into: &output) else {
                output.removeSubrange(start...)
                throw .malformed("request: fieldValue")
            }
        }
        if let contentLength {
            output.append(contentsOf: "Content-Length: ".utf8)
            Decimal.append(contentLength, into: &output)
            output.append(contentsOf: "\r\n".utf8)
        }
        output.append(contentsOf: "\r\n".utf8)
    }

    private static func isOurs(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName {
        case "host", "content-length", "transfer-encoding": true
        default: false
        }
    }
}
