package import HTTPTypes

/// Which fields may follow the content (RFC 9110 §6.5.1).
package enum TrailerFields {
    /// Whether a trailer field of this name is shown to handlers.
    ///
    /// Fields that frame or route a message, modify or authenticate the request, or describe the content have no
    /// meaning after it. Every `KnownField` is one of these, or is only used in a header section, so none of them is
    /// allowed, nor are the few below that are not known otherwise.
    package static func isAllowed(_ name: HTTPField.Name) -> Bool {
        !known.contains(name.canonicalName) && !others.contains(name.canonicalName)
    }

    private static let known = Set(KnownField.allCases.dropFirst().map(\.name.canonicalName))

    /// Names in RFC 9110 §6.5.1's classes that are not a `KnownField`.
    private static let others: Set = [
        // Framing and routing, also of HTTP/1.0 and of proxies.
        "proxy-connection", "max-forwards", "x-original-host", "x-forwarded-server", "x-forwarded-user", "remote-user",
        // Request modifiers.
        "if-range", "x-http-method-override",
        // Authentication.
        "proxy-authorization", "proxy-authenticate", "www-authenticate", "set-cookie", "authentication-info",
        "proxy-authentication-info",
        // The form of the content.
        "content-language", "content-location", "content-range", "age", "expires", "warning",
    ]
}

extension BodyDecoder {
    /// The allowed trailer fields, in order, once the content is complete.
    package func makeTrailers() -> HTTPFields {
        var fields = HTTPFields()
        guard isComplete, !trailerSection.isEmpty else { return fields }
        let bytes = trailerSection.span
        var scanner = FieldLineScanner()
        scanner.start(at: 0)
        // Never throws: the decoder accepted the same bytes, line by line.
        while case .field? = try? scanner.next(bytes, limit: bytes.count + 1) {
            let field = scanner.last
            if let name = HTTPField.Name(field.name.string(in: bytes)), TrailerFields.isAllowed(name) {
                fields.append(HTTPField(name: name, value: field.value.string(in: bytes)))
            }
        }
        return fields
    }
}
