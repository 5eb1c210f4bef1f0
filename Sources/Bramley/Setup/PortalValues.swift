internal import Web

/// What to enter in Apple's portal about this server, and where; shared by `bramley init` and `bramley check`.
struct PortalValues {
    let lines: [String]

    init(_ configuration: Configuration) {
        let url = configuration.web.publicURL
        let apple = configuration.apple
        guard !apple.isSimulated else {
            lines = ["Apple is simulated by \(apple.endpoint). Nothing needs to be registered there."]
            return
        }
        guard url.isSecure, !url.isForTests else {
            lines = [
                "Apple accepts neither http nor a host such as \(url.host). For the real Apple, publicURL has to be a",
                "public https address; to try things out, let apple.endpoint name a simulated Apple.",
            ]
            return
        }
        lines = [
            "Paste into Apple's portal, https://developer.apple.com/account/resources:",
            "",
            "  Identifiers, Services IDs, \(apple.servicesID), Sign in with Apple, Configure:",
            "    Domains and Subdomains    \(url.host)",
            "    Return URLs               \(url.callbackURL)",
            "  Identifiers, App IDs, the primary App ID of that Services ID, Sign in with Apple, Edit:",
            "    Server-to-Server Notification Endpoint",
            "                              \(url.notificationURL)",
            "  Services, Sign in with Apple for Email Communication, Configure:",
            "    Register the domains and addresses your site writes from, if it writes to people who hide theirs.",
            "    Apple's relay refuses all others. Bramley itself sends no e-mail.",
        ]
    }
}
