import Coding
import HTTPTypes

/// Whether a request loads a page, and whether its visitor is there, by the fields that browsers and scripts send.
enum Navigation {
    /// `Sec-Fetch-Mode: navigate`, or, without that field, no `X-Requested-With`.
    static func holds(_ fields: HTTPFields) -> Bool {
        if let mode = fields[.secFetchMode] { return mode.isExactly("navigate") }
        return fields[.requestedWith] == nil
    }

    /// Whether its sender can show a page: it loads one and accepts HTML.
    static func wantsPage(_ fields: HTTPFields) -> Bool {
        holds(fields) && (fields[.accept] ?? "").lowercased().contains("text/html")
    }

    /// Whether a browser fetches or renders the page before its visitor goes there (`Sec-Purpose`, W3C Speculation
    /// Rules; `Purpose`, `X-Purpose` and `X-Moz` in older ones). It may show the answer later, if it is a success.
    static func isPrefetch(_ fields: HTTPFields) -> Bool {
        let names: [HTTPField.Name] = [.secPurpose, .purpose, .xPurpose, .xMoz]
        return names.contains { name in
            fields[values: name].contains { value in
                let words = value.lowercased()
                return ["prefetch", "prerender", "preview"].contains(where: words.contains)
            }
        }
    }

    /// Whether a page is requested without a visit: by HEAD, or by a script or an image (`Sec-Fetch-Mode`, if sent).
    static func hasNoVisitor(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> Bool {
        let modes = fields[values: .secFetchMode]
        return method == .head || !(modes.isEmpty || modes == ["navigate"])
    }
}
