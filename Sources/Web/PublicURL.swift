internal import Coding

/// `publicURL`, parsed once: every link, cookie and check is made from it, never from what a request says of itself.
package struct PublicURL: Hashable, Sendable {
    /// Scheme, host and port, as a browser writes them in `Origin`: `https://login.example.com`.
    package let origin: String
    package let isSecure: Bool
    /// Host and port: `login.example.com`, `localhost:8080`.
    package let authority: String
    /// Empty, or a path without a trailing slash: `/sign-in`.
    package let basePath: String

    /// - Parameter text: an absolute http or https URL without query, fragment and user, with scheme and host in lower
    ///   case and without a default port (as in a browser's `Origin`). Nil for anything else.
    package init?(_ text: String) {
        guard text.isVisibleASCII, !text.contains(where: { "?#\\\"<>".contains($0) }),
            let url = AbsoluteURL(text), !url.authority.contains("@"), url.authority == url.authority.lowercased(),
            !url.authority.hasSuffix(":\(url.defaultPort)")
        else { return nil }
        var path = url.rest
        while path.hasSuffix("/") { path.removeLast() }
        authority = String(url.authority)
        isSecure = url.isSecure
        origin = url.origin
        basePath = String(path)
    }

    private init(origin: String, isSecure: Bool, authority: String) {
        (self.origin, self.isSecure, self.authority, basePath) = (origin, isSecure, authority, "")
    }

    package static let localhost = PublicURL(origin: "http://localhost", isSecure: false, authority: "localhost")

    package var host: String { String(authority.prefix { $0 != ":" }) }

    /// Origin and base path, without a trailing slash: `/login` is appended to it.
    package var absolute: String { origin + basePath }

    /// A link to one of our paths: the base path and `path`.
    package func path(_ path: String) -> String { basePath + path }

    /// The return URL to register with Apple.
    package var callbackURL: String { absolute + "/apple/callback" }

    /// The part of a request's path below the base path, from its slash; nil when it is not below it.
    func pathBelow(_ path: String) -> String? {
        path.hasPrefix(basePath + "/") ? String(path.dropFirst(basePath.count)) : nil
    }

    /// A configured link in absolute form: a path belongs to our host.
    func absoluteLink(_ link: String) -> String { link.hasPrefix("/") ? origin + link : link }

    /// The origin of an absolute http or https URL, as a source in a `Content-Security-Policy`; nil for anything else.
    static func origin(of url: String) -> String? {
        AbsoluteURL(url).flatMap { $0.hasPlainAuthority ? $0.origin : nil }
    }
}
