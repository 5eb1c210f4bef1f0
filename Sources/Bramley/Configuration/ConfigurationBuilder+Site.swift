import Crypto
import RelyingParty
import Web

extension ConfigurationBuilder {
    // MARK: login

    func login(_ publicURL: PublicURL?) -> WebConfiguration.Login? {
        let mode = values.choice("login.mode", WebConfiguration.LoginMode.self)
        let origins = origins("login.allowedReturnOrigins")
        let target = defaultReturnTo(publicURL)
        let lifetime = values.integer("login.attemptLifetime")
        let password = link("login.passwordURL")
        let asks = values.boolean("login.askExistingAccount")
        let canAsk = canAsk(asks, password)
        let isGood = target.map { isReturnTarget($0, publicURL, origins) } ?? false
        guard isGood, canAsk, let mode, let origins, let target, let lifetime, let password, let asks else {
            return nil
        }
        var login = WebConfiguration.Login(
            mode: mode, allowedReturnOrigins: origins, defaultReturnTo: target, attemptLifetime: Int64(lifetime),
            passwordURL: password.value)
        login.askExistingAccount = asks
        return login
    }

    /// As it is written, for it may lead anywhere on the host; without it, the account page, which is below `publicURL`.
    private func defaultReturnTo(_ publicURL: PublicURL?) -> String? {
        let text = values.text("login.defaultReturnTo")
        return values.isGiven("login.defaultReturnTo") ? text : text.map { (publicURL?.basePath ?? "") + $0 }
    }

    /// Who says that they have an account is sent to where they sign in to it, with a ticket in the query.
    private func canAsk(_ asks: Bool?, _ password: Link?) -> Bool {
        guard asks == true, let password else { return true }
        guard let url = password.value else {
            values.fail(
                "login.askExistingAccount", "is true without login.passwordURL, so that nobody could be sent there.",
                "Name the application's own sign-in in login.passwordURL, or remove the key.")
            return false
        }
        guard !url.contains("#") else {
            values.fail(
                "login.passwordURL", "has a fragment, behind which login.askExistingAccount cannot add its ticket.",
                "Leave out the # and what follows.")
            return false
        }
        return true
    }

    /// A list of exact origins, with TLS or on this machine.
    private func origins(_ key: String) -> [String]? {
        guard let texts = values.list(key) else { return nil }
        let origins = texts.compactMap { text -> String? in
            if text.contains("*") {
                values.fail(key, "holds the pattern \(text.quoted).", "Name each origin exactly.")
                return nil
            }
            return origin(key, text)?.origin
        }
        return origins.count == texts.count ? origins : nil
    }

    private func isReturnTarget(_ text: String, _ publicURL: PublicURL?, _ origins: [String]?) -> Bool {
        if text.hasPrefix("/") {
            guard !text.hasPrefix("//"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C }) else {
                values.fail("login.defaultReturnTo", "\(text.quoted) is no path.", "Write a path such as \"/account\".")
                return false
            }
            return true
        }
        let bare = String(text.prefix { $0 != "?" && $0 != "#" })
        guard let address = address("login.defaultReturnTo", bare) else { return false }
        guard let publicURL, let origins, address.origin != publicURL.origin, !origins.contains(address.origin) else {
            return true
        }
        values.fail(
            "login.defaultReturnTo", "leads to \(address.origin.quoted), which is no allowed origin.",
            "Add that origin to login.allowedReturnOrigins, or write a path.")
        return false
    }

    /// An optional address to link to. Nil means a problem; a value of nil means that nothing was given.
    private struct Link { var value: String? }

    private func link(_ key: String) -> Link? {
        guard values.isGiven(key) else {
            _ = values.text(key)
            return Link(value: nil)
        }
        guard let text = values.text(key) else { return nil }
        if text.hasPrefix("/"), !text.hasPrefix("//"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x5C }) {
            return Link(value: text)
        }
        let bare = String(text.prefix { $0 != "?" && $0 != "#" })
        if !bare.contains("://"), !bare.hasPrefix("/") {
            values.fail(
                key, "\(text.quoted) is not a web address.",
                "Begin it with https://, or with / when it is a path of this site.")
            return nil
        }
        return secureAddress(key, bare).map { _ in Link(value: text) }
    }

    // MARK: api

    func api() -> Configuration.API? {
        origins("api.allowedOrigins").map { Configuration.API(allowedOrigins: $0) }
    }

    // MARK: button, site

    func button() -> SignInButton? {
        let color = values.choice("button.color", SignInButton.Color.self)
        let label = values.choice("button.type", SignInButton.Kind.self)
        let mode = values.choice("button.mode", SignInButton.Mode.self)
        let border = values.boolean("button.border")
        let radius = values.integer("button.borderRadius")
        let width = length("button.width")
        let height = length("button.height")
        let size = values.integer("button.size")
        let logoSize = values.choice("button.logoSize", SignInButton.LogoSize.self)
        let logoPosition = values.integer("button.logoPosition")
        let labelPosition = values.integer("button.labelPosition")
        guard let label, let mode, let border, let radius, let width, let height, let size, let logoSize
        else {
            return nil
        }
        return SignInButton(
            color: color, kind: label, mode: mode, border: border, borderRadius: radius, width: width.pixels,
            height: height.pixels ?? SignInButton().height, size: size, logoSize: logoSize, logoPosition: logoPosition,
            labelPosition: labelPosition)
    }

    /// Nil pixels are `100%`.
    private struct Length { var pixels: Int? }

    private func length(_ name: String) -> Length? {
        let text = values.text(name)
        guard let key = ConfigurationTable.byName[name], case .length(let range) = key.type else { return nil }
        guard values.isGiven(name) else {
            if case .integer(let value) = key.presence { return Length(pixels: value) }
            return nil
        }
        guard let text else { return nil }
        if text == "100%" { return Length(pixels: nil) }
        guard let value = Int(text), range.contains(value) else {
            values.fail(name, "is \(text.quoted).", "Write \(key.type.expectation) without unit.")
            return nil
        }
        return Length(pixels: value)
    }

    func site(_ publicURL: PublicURL?) -> WebConfiguration.Site? {
        let name = values.text("site.name")
        let logo = link("site.logo")
        let privacy = link("site.privacyURL")
        let terms = link("site.termsURL")
        let support = supportLink()
        let home = link("site.homeURL")
        guard let logo, let privacy, let terms, let support, let home, let title = name ?? publicURL?.host else {
            return nil
        }
        return WebConfiguration.Site(
            name: title, logo: logo.value, privacyURL: privacy.value, termsURL: terms.value,
            supportURL: support.value, homeURL: home.value)
    }

    /// A page, or an address to write to (RFC 6068).
    private func supportLink() -> Link? {
        let key = "site.supportURL"
        guard let text = values.text(key), text.hasPrefix("mailto:") else { return link(key) }
        let address = text.dropFirst("mailto:".count).prefix { $0 != "?" }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            values.fail(key, "is \(text.quoted).", "Write \"mailto:help@example.com\" or an https address.")
            return nil
        }
        return Link(value: text)
    }

    // MARK: sessions, secrets

    func sessions(_ publicURL: PublicURL?) -> WebConfiguration.Sessions? {
        let lifetime = values.integer("sessions.lifetime")
        let idle = values.integer("sessions.idleTimeout")
        let domain = values.text("sessions.cookieDomain")
        if let domain, !isCookieDomain(domain, publicURL) { return nil }
        guard let lifetime, let idle else { return nil }
        // A shorter lifetime alone is no mistake: the default idle time then simply never comes first.
        if idle > lifetime, values.isGiven("sessions.idleTimeout") {
            values.fail(
                "sessions.idleTimeout", "is \(idle), longer than sessions.lifetime, \(lifetime).",
                "Write at most \(lifetime), or raise sessions.lifetime.")
            return nil
        }
        return WebConfiguration.Sessions(
            limits: SessionLimits(lifetime: Int64(lifetime), idleTimeout: Int64(min(idle, lifetime))),
            cookieDomain: domain)
    }

    private func isCookieDomain(_ domain: String, _ publicURL: PublicURL?) -> Bool {
        let key = "sessions.cookieDomain"
        if domain.hasPrefix(".") {
            values.fail(key, "begins with a dot.", "Write \(String(domain.drop { $0 == "." }).quoted), without it.")
            return false
        }
        if PublicSuffix.contains(domain) {
            values.fail(
                key, "is \(domain.quoted), below which many owners have their sites: browsers refuse such a cookie.",
                "Write your own domain below it, or remove the key.")
            return false
        }
        guard let publicURL else { return true }
        guard publicURL.host == domain || publicURL.host.hasSuffix("." + domain), !publicURL.isIPAddress else {
            values.fail(
                key, "is \(domain.quoted), but publicURL's host is \(publicURL.host.quoted).",
                "Write a domain that host ends in, or remove the key.")
            return false
        }
        guard publicURL.isSecure else {
            values.fail(key, "needs https.", "Remove the key, or let publicURL begin with https://.")
            return false
        }
        return true
    }

    func secrets(_ storage: Configuration.Storage?) -> Configuration.Secrets? {
        let key = sealingKey(storage)
        let files = values.list("secrets.previousSealingKeyFiles") ?? []
        let texts = values.list("secrets.previousSealingKeys") ?? []
        guard !refuseTwins("secrets.previousSealingKeyFiles", "secrets.previousSealingKeys") else { return nil }
        let fromFiles = files.map { path in
            readSecret("secrets.previousSealingKeyFiles", path).flatMap {
                sealingKey($0, "secrets.previousSealingKeyFiles", "\(path.quoted) holds")
            }
        }
        let inline = texts.map { sealingKey($0, "secrets.previousSealingKeys", "holds") }
        let previous = (fromFiles + inline).compactMap { $0 }
        guard let key, previous.count == files.count + texts.count else { return nil }
        return Configuration.Secrets(sealingKey: key, previousSealingKeys: previous)
    }

    private func sealingKey(_ storage: Configuration.Storage?) -> Configuration.SealingKeySource? {
        let path = values.text("secrets.sealingKeyFile")
        let inline = values.text("secrets.sealingKey")
        guard !refuseTwins("secrets.sealingKeyFile", "secrets.sealingKey") else { return nil }
        if let inline { return sealingKey(inline, "secrets.sealingKey", "holds").map { .inline($0) } }
        if values.isGiven("secrets.sealingKey") { return nil }
        if values.isGiven("secrets.sealingKeyFile"), path == nil { return nil }
        guard let file = path ?? storage.map({ $0.directory + "/sealing.key" }) else { return nil }
        // It may be missing: a new database comes with a new key. When it is there, it has to be right.
        if GuardedFile.exists(file) {
            guard let text = readSecret("secrets.sealingKeyFile", file),
                sealingKey(text, "secrets.sealingKeyFile", "\(file.quoted) holds") != nil
            else { return nil }
        }
        return .file(path: file)
    }

    private func sealingKey(_ text: String, _ key: String, _ subject: String) -> SecretBytes? {
        if let bytes = SealingKeyText.parse(text) { return bytes }
        values.fail(
            key, "\(subject) no sealing key.", "Use 64 hexadecimal digits, as `openssl rand -hex 32` prints them.")
        return nil
    }
}
