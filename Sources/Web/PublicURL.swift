/// `publicURL`: the address visitors use, taken apart once. Every link, cookie and check is made from it and never
/// from what a request says about itself.
package struct PublicURL: Hashable, Sendable {
    /// Scheme, host and port as a browser writes them in `Origin`: `https://login.example.com`.
    package let origin: String
    package let isSecure: Bool
    /// Host and port: `login.example.com`, `localhost:8080`.
    package let authority: String
    /// Empty, or a path without a slash at its end: `/sign-in`.
    package let basePath: String

    /// - Parameter text: an absolute http or https URL without query, fragment and user, its scheme and host in lower
    ///   case and without a default port (a browser's `Origin` has neither). Nil for anything else.
    package init?(_ text: String) {
        let scheme = text.hasPrefix("https://") ? "https://" : "http://"
        guard text.hasPrefix(scheme), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = String(rest[..<end])
        var path = String(rest[end...])
        while path.hasSuffix("/") { path.removeLast() }
        guard !authority.isEmpty, !authority.contains("@"), authority == authority.lowercased() else { return nil }
        guard !authority.hasSuffix(scheme == "https://" ? ":443" : ":80") else { return nil }
        for character in "?#\\\"<>" where rest.contains(character) { return nil }
        self.authority = authority
        isSecure = scheme == "https://"
        origin = scheme + authority
        basePath = path
    }

    private init(origin: String, isSecure: Bool, authority: String) {
        (self.origin, self.isSecure, self.authority, basePath) = (origin, isSecure, authority, "")
    }

    /// `http://localhost`.
    package static let localhost = PublicURL(origin: "http://localhost", isSecure: false, authority: "localhost")

    /// `authority` without its port.
    package var host: String { String(authority.prefix { $0 != ":" }) }

    /// Origin and base path, without a slash at the end: what `/login` is appended to.
    package var absolute: String { origin + basePath }

    /// A path of ours as a link on a page: the base path and `path`.
    package func path(_ path: String) -> String { basePath + path }

    /// A configured link that leads there from anywhere: a path is one of our host.
    func absoluteLink(_ link: String) -> String { link.hasPrefix("/") ? origin + link : link }

    /// Origin of an absolute http or https URL, as a source in a `Content-Security-Policy`; nil for anything else.
    static func origin(of url: String) -> String? {
        guard let scheme = ["https://", "http://"].first(where: { url.hasPrefix($0) }) else { return nil }
        let authority = url.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let isPlain = authority.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
                UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        return authority.isEmpty || !isPlain ? nil : scheme + authority
    }
}
