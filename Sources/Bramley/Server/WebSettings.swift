internal import AppleID
internal import HTTP
internal import HTTPTypes
internal import RelyingParty
internal import Sockets
internal import Web

// The configuration in the words of the parts it is for.
extension Configuration {
    var web: WebConfiguration? {
        guard let publicURL = Web.PublicURL(publicURL.text) else { return nil }
        var web = WebConfiguration(
            publicURL: publicURL,
            site: WebConfiguration.Site(
                name: site.name, logo: site.logo, privacyURL: site.privacyURL, termsURL: site.termsURL),
            apple: WebConfiguration.Apple(
                servicesID: apple.servicesID, bundleIDs: apple.bundleIDs, teamID: TeamID(apple.teamID),
                redirectURI: self.publicURL.callbackURL, scopes: apple.scopes,
                scriptURL: apple.scriptURL, isSimulatedByOverride: apple.showsSimulationBanner),
            login: WebConfiguration.Login(
                mode: login.mode == .popup ? .popup : .redirect, allowedReturnOrigins: login.allowedReturnOrigins,
                defaultReturnTo: login.defaultReturnTo,
                attemptLifetime: Int64(login.attemptLifetime), passwordURL: login.passwordURL),
            button: button.web,
            sessions: WebConfiguration.Sessions(limits: sessions.limits, cookieDomain: sessions.cookieDomain),
            forwardAuth: forwardAuth.style == .original ? .original : .forwarded, accessRules: forwardAuth.rules,
            apiOrigins: api.allowedOrigins,
            locales: pages.locales, pageOverrides: pages.files,
            limits: WebConfiguration.Limits(
                callbackBody: server.limits.body, upgradesPerMinute: server.limits.upgradesPerMinute),
            linking: WebConfiguration.Linking(changePassword: upgrade?.changePassword == true),
            assertionAudience: assertion.audience)
        web.accessLog = log.web
        return web
    }

    func appleID() throws(AppleConfigurationError) -> AppleConfiguration {
        try AppleConfiguration(
            servicesID: apple.servicesID, bundleIDs: apple.bundleIDs, teamID: apple.teamID, keyID: apple.keyID,
            privateKeyPEM: apple.privateKeyPEM, next: apple.nextKey.map { ($0.keyID, $0.privateKeyPEM) },
            issuers: apple.issuers, endpoint: apple.endpoint, redirectURI: publicURL.callbackURL, scopes: apple.scopes)
    }

    /// - Parameter refusalFields: on what the server answers without asking a handler.
    /// - Parameter tls: nil for a plain listener.
    func http(refusalFields: HTTPFields, tls: TLSAcceptor?) -> HTTPServerConfiguration {
        let limits = server.limits
        return HTTPServerConfiguration(
            limits: WireLimits(
                requestLine: limits.requestLine, headerBlock: limits.headerBlock, fieldCount: limits.fieldCount,
                body: limits.body),
            timeouts: ServerTimeouts(
                handshake: Int64(limits.handshakeTimeout) * 1000, header: Int64(limits.headerTimeout) * 1000,
                body: Int64(limits.bodyTimeout) * 1000,
                write: Int64(limits.writeTimeout) * 1000, idle: Int64(limits.idleTimeout) * 1000),
            trustedProxies: TrustedProxies(server.trustedProxies), proxyProtocol: server.proxyProtocol,
            refusalFields: refusalFields, tls: tls,
            contents: ContentBudget(bytes: max(ContentBudget.standard, 8 * limits.body)))
    }
}

extension Configuration.Log {
    fileprivate var web: WebConfiguration.AccessLog {
        let requests: WebConfiguration.AccessLog.Requests =
            switch requests {
            case .all: .all
            case .failures: .failures
            case .none: .none
            }
        let clients: ClientDetail =
            switch clients {
            case .network: .network
            case .address: .address
            case .none: .none
            }
        return WebConfiguration.AccessLog(requests: requests, clients: clients)
    }
}

extension Configuration.Button {
    fileprivate var web: SignInButton {
        var button = SignInButton()
        button.color = color
        button.kind = label
        button.mode = mode
        button.border = border
        button.borderRadius = borderRadius
        if case .pixels(let width) = width { button.width = width } else { button.width = nil }
        if case .pixels(let height) = height { button.height = height }
        button.size = size
        button.logoSize = logoSize
        button.logoPosition = logoPosition
        button.labelPosition = labelPosition
        return button
    }
}
