/// An absolute `http` or `https` URL split into its parts (RFC 3986 §3), each as written and not validated.
package struct AbsoluteURL: Hashable, Sendable {
    package let isSecure: Bool
    /// Between `//` and the next `/`, `?` or `#`; never empty.
    package let authority: Substring
    /// Everything after the authority: empty, or beginning with `/`, `?` or `#`.
    package let rest: Substring

    /// - Parameter text: with its scheme in lower case. Nil for another scheme, and without an authority.
    package init?(_ text: String) {
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        isSecure = scheme == "https://"
        let afterScheme = text.dropFirst(scheme.count)
        authority = afterScheme.prefix { !"/?#".contains($0) }
        rest = afterScheme[authority.endIndex...]
        if authority.isEmpty { return nil }
    }

    package var scheme: String { isSecure ? "https" : "http" }
    package var defaultPort: UInt16 { isSecure ? 443 : 80 }
    package var origin: String { "\(scheme)://\(authority)" }

    /// Whether the authority consists only of letters, digits, dots, hyphens, colons and brackets: no user, no escapes,
    /// nothing that two parsers could read differently.
    package var hasPlainAuthority: Bool {
        authority.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
    }

    /// The host, with brackets for an IPv6 address, and the text after its colon. Nil when there is no host, or a
    /// misplaced bracket or colon (RFC 3986 §3.2.2). The caller validates their content.
    package var hostAndPort: (host: Substring, port: Substring?)? {
        let host: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[...close]
        } else {
            host = authority.prefix { $0 != ":" }
            if host.isEmpty || host.contains(where: { "[]".contains($0) }) { return nil }
        }
        let port = authority[host.endIndex...]
        if port.isEmpty { return (host, nil) }
        guard port.hasPrefix(":"), !port.dropFirst().contains(":") else { return nil }
        return (host, port.dropFirst())
    }
}

package enum AddressQuery {
    /// `address` with `query` after its own query, keeping its fragment.
    /// - Parameter query: escaped, not empty.
    package static func append(_ query: String, to address: String) -> String {
        let fragment = address.firstIndex(of: "#") ?? address.endIndex
        let beforeFragment = address[..<fragment]
        let separator = !beforeFragment.contains("?") ? "?" : "?&".contains(beforeFragment.last ?? " ") ? "" : "&"
        return "\(beforeFragment)\(separator)\(query)\(address[fragment...])"
    }
}
