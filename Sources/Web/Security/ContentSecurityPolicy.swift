/// The `Content-Security-Policy` of each kind of response, made once from the configuration.
///
/// Apple's sources are the origin of `apple.scriptURL`. `form-action` includes the allowed return origins because
/// browsers apply it to every redirect after a form.
struct ContentSecurityPolicy: Sendable {
    /// An SVG document, which may have its own styles and no script, even when opened by itself.
    static let picture = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

    /// A page without scripts.
    let plain: String
    /// For responses that are not pages: JSON, redirects, `/auth/verify`.
    let nothing: String
    /// A page without scripts whose form may also lead to `login.passwordURL`.
    let existing: String
    /// Whether visitors come by https.
    let isSecure: Bool
    /// A page without scripts whose form leads on to wherever a client's redirect URI leads: browsers apply
    /// `form-action` to every redirect.
    let onward: String
    private let scriptPrefix: String
    private let scriptSuffix: String
    private let loginSuffix: String

    init(_ configuration: WebConfiguration) {
        let apple = PublicURL.origin(of: configuration.apple.scriptURL) ?? ""
        let logo = configuration.site.logo.flatMap(PublicURL.origin).map { " \($0)" } ?? ""
        // The operator configured the default target, which need not be among the allowed origins.
        var origins = configuration.login.allowedReturnOrigins
        if let home = PublicURL.origin(of: configuration.login.defaultReturnTo), !origins.contains(home),
            home != configuration.publicURL.origin
        {
            origins.append(home)
        }
        isSecure = configuration.publicURL.isSecure
        let forms = (["'self'"] + origins).joined(separator: " ")
        let common = "base-uri 'none'; form-action \(forms); frame-ancestors 'none'"
        nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        let plainPrefix = "default-src 'none'; style-src 'self'; img-src 'self'\(logo); "
        plain = plainPrefix + common
        onward = plainPrefix + "base-uri 'none'; frame-ancestors 'none'"
        let password = configuration.login.passwordURL.flatMap(PublicURL.origin).map { " \($0)" } ?? ""
        existing = plainPrefix + "base-uri 'none'; form-action \(forms)\(password); frame-ancestors 'none'"
        scriptPrefix = "default-src 'none'; script-src 'nonce-"
        scriptSuffix = "'; connect-src 'self'; style-src 'self'; img-src 'self'\(logo); \(common)"
        // Apple's button needs inline styles and a font in a data: URL; a nonce in style-src would disable the former.
        loginSuffix =
            "' \(apple); connect-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; "
            + "img-src 'self' \(apple)\(logo); \(common)"
    }

    /// A page that posts to an application, which may redirect the browser anywhere.
    func posting(nonce: String) -> String {
        scriptPrefix + nonce + "'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action http: https:; "
            + "frame-ancestors 'none'"
    }

    /// A page whose own scripts have this nonce.
    func scripted(nonce: String) -> String { scriptPrefix + nonce + scriptSuffix }

    /// A page on another site's address, with only its own inline style (by its SHA-256 in standard base64), whose form
    /// posts to us, `origin`.
    func standalone(styleHash: String, origin: String) -> String {
        "default-src 'none'; style-src 'sha256-\(styleHash)'; base-uri 'none'; form-action \(origin); "
            + "frame-ancestors 'none'"
    }

    /// The login page: also allows Apple's script, styles and pictures.
    func login(nonce: String) -> String { scriptPrefix + nonce + loginSuffix }
}
