import Web

// Warns where a valid configuration would not do what its operator expects.
extension ConfigurationBuilder {
    func advise(on configuration: Configuration) {
        adviseOnNotifications(configuration.apple)
        adviseOnProxies(configuration)
    }

    /// Sign-ins work without notifications, so nobody notices until somebody withdraws consent.
    private func adviseOnNotifications(_ apple: Configuration.Apple) {
        guard apple.bundleIDs.isEmpty else { return }
        values.warn(
            "apple.bundleIDs",
            "names no app: Apple addresses its notifications to the primary App ID's bundle ID, and they will be refused. "
                + "People who stop using this site at Apple stay signed in.",
            "Add the bundle ID of the primary App ID that \(apple.servicesID) is grouped with, also when there is no app. "
                + "In Apple's portal it is under Identifiers, Services IDs, \(apple.servicesID), Sign in with Apple, "
                + "Configure.")
    }

    /// Visitors use TLS, and Bramley does not: then there is a proxy, whose address everybody would seem to have.
    private func adviseOnProxies(_ configuration: Configuration) {
        let server = configuration.server
        guard configuration.web.publicURL.isSecure, server.tls == nil, server.trustedProxies.isEmpty else { return }
        values.warn(
            "server.trustedProxies",
            "is empty, and there is no certificate in server.certificateFile: a proxy must answer at "
                + "\(configuration.web.publicURL.absolute), and all visitors would share its address and one rate limit.",
            "Name the proxy's own address, such as [\"127.0.0.1\"]; or give Bramley the certificate.")
    }
}
