import HTTP
package import HTTPTypes

enum SecurityHeaders {
    /// The `Referer` that the browser may send from a page.
    enum ReferrerPolicy: String {
        /// Pages with forms: `no-referrer` would turn their `Origin` into `null`.
        case sameOrigin = "same-origin"
        /// A page of ours on another site's address, whose form tells us only that site's origin.
        case strictOrigin = "strict-origin"
        case noReferrer = "no-referrer"
    }

    /// All of them, in the order sent; over plain http without Strict-Transport-Security (RFC 6797 §7.2).
    static func fields(policy: String, isSecure: Bool, referrer: ReferrerPolicy) -> [HTTPField] {
        let transport = isSecure ? [HTTPField(name: .strictTransportSecurity, value: "max-age=31536000")] : []
        return [HTTPField(name: .cacheControl, value: "no-store")] + transport + [
            HTTPField(name: .contentSecurityPolicy, value: policy),
            HTTPField(name: .xContentTypeOptions, value: "nosniff"),
            HTTPField(name: .referrerPolicy, value: referrer.rawValue),
            HTTPField(name: .crossOriginOpenerPolicy, value: "same-origin"),
            HTTPField(name: .crossOriginResourcePolicy, value: "same-origin"),
        ]
    }

    /// For the page that opens Apple's window, whose answer `same-origin` would cut off.
    static let keepingPopups: HTTPFields = [.crossOriginOpenerPolicy: "same-origin-allow-popups"]

    /// For answers to an application's request: otherwise its window would lose its opener, the application.
    static let keepingOpener: HTTPFields = [.crossOriginOpenerPolicy: "unsafe-none"]

    private static let names = fields(policy: "", isSecure: false, referrer: .noReferrer).map(\.name)

    /// Adds them; fields already set are kept.
    static func add(to fields: inout HTTPFields, policy: String, isSecure: Bool, referrer: ReferrerPolicy) {
        // The maker of the response has nearly always added them.
        if names.allSatisfy(fields.contains), !isSecure || fields.contains(.strictTransportSecurity) { return }
        for field in self.fields(policy: policy, isSecure: isSecure, referrer: referrer)
        where !fields.contains(field.name) { fields.append(field) }
    }
}

extension ServerResponse {
    /// With `SecurityHeaders.keepingOpener`, in answers to an application's request.
    func keepingOpener(if isProgram: Bool = true) -> ServerResponse {
        guard isProgram else { return self }
        var response = self
        for field in SecurityHeaders.keepingOpener { response.fields[field.name] = field.value }
        return response
    }
}

extension HTTPField.Name {
    static let referrerPolicy = known("Referrer-Policy")
    static let crossOriginOpenerPolicy = known("Cross-Origin-Opener-Policy")
    static let pragma = known("Pragma")
    static let refresh = known("Refresh")
    static let secFetchSite = known("Sec-Fetch-Site")
    static let secFetchMode = known("Sec-Fetch-Mode")
    static let secPurpose = known("Sec-Purpose")
    static let purpose = known("Purpose")
    static let xPurpose = known("X-Purpose")
    static let xMoz = known("X-Moz")
    static let requestedWith = known("X-Requested-With")
    /// nginx's: for how many seconds it keeps an answer, whatever Cache-Control says.
    static let accelExpires = known("X-Accel-Expires")
    static let authRequestUser = known("X-Auth-Request-User")
    static let authRequestEmail = known("X-Auth-Request-Email")
    static let authRequestPreferredUsername = known("X-Auth-Request-Preferred-Username")
    static let authRequestName = known("X-Auth-Request-Name")
    static let authRequestRedirect = known("X-Auth-Request-Redirect")
    static let authRequestGroups = known("X-Auth-Request-Groups")
    static let authRequestAssertion = known("X-Auth-Request-Assertion")

    /// A name written in this file is a token, so the fallback is never used.
    private static func known(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .via }
}

extension WebApplication {
    /// The security fields of answers that the server sends without this handler: 400, 408, 414 and similar.
    package static func refusalFields(_ configuration: WebConfiguration) -> HTTPFields {
        var fields = HTTPFields()
        let policy = ContentSecurityPolicy(configuration)
        SecurityHeaders.add(to: &fields, policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        return fields
    }
}
