package import HTTPTypes

/// Which fields may come behind the content (RFC 9110 §6.5.1).
package enum TrailerFields {
    /// Whether a trailer field of this name is shown to handlers.
    ///
    /// What frames a message, routes it, modifies or authenticates the request, or describes the content has no
    /// meaning behind it. Every `KnownField` is one of these, or is only ever asked for in a header section, so none
    /// of them passes; nor do the few below that nothing here knows otherwise.
    package static func isAllowed(_ name: HTTPField.Name) -> Bool {
        !known.contains(name.canonicalName) && !others.contains(name.canonicalName)
    }

    private static let known = Set(KnownField.allCases.dropFirst().map(\.name.canonicalName))

    /// Of RFC 9110 §6.5.1's classes, the names that are no `KnownField`.
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
    /// The trailer fields, in order, once the content is complete; those that may not be any are left out.
    package func makeTrailers() -> HTTPFields {
        var fields = HTTPFields()
        guard isComplete, !trailerSection.isEmpty else { return fields }
        let bytes = trailerSection.span
        var scanner = FieldLineScanner()
        scanner.start(at: 0)
        // Never throws: the decoder let the same bytes through, line by line.
        while case .field? = try? scanner.next(bytes, limit: bytes.count + 1) {
            let field = scanner.last
            guard let name = HTTPField.Name(field.name.string(in: bytes)), TrailerFields.isAllowed(name) else {
                continue
            }
            fields.append(HTTPField(name: name, value: field.value.string(in: bytes)))
        }
        return fields
    }
}
