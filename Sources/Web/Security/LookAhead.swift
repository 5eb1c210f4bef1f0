import HTTPTypes

/// Whether a request only looks ahead: nobody has chosen to go there yet.
enum LookAhead {
    /// A browser fetches or renders the page before its visitor goes to it (`Sec-Purpose`, W3C Speculation Rules; `Purpose`,
    /// `X-Purpose` and `X-Moz` of older ones). It may show the answer later, when that is one of success.
    static func isPrefetch(_ fields: HTTPFields) -> Bool {
        let names: [HTTPField.Name] = [.secPurpose, .purpose, .xPurpose, .xMoz]
        return names.contains { name in
            fields[values: name].contains { value in
                let words = value.lowercased()
                return ["prefetch", "prerender", "preview"].contains(where: words.contains)
            }
        }
    }

    /// Somebody asks about a page without going to it: by HEAD, or from a script or a picture (`Sec-Fetch-Mode`). A browser
    /// too old to say is believed.
    static func isNoVisit(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> Bool {
        let modes = fields[values: .secFetchMode]
        return method == .head || !(modes.isEmpty || modes == ["navigate"])
    }
}
