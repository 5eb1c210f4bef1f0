internal import AppleID
internal import Web

extension Configuration {
    /// What to enter in Apple's portal about this server, and where; shared by `bramley init` and `bramley check`.
    var portalLines: [String] {
        let url = web.publicURL
        guard !apple.isSimulated else {
            let flag = web.apple.isSimulatedByOverride ? " Only bramley serve --allow-simulated-apple accepts it." : ""
            return ["Apple is simulated by \(apple.endpoint). Nothing needs to be registered there.\(flag)"]
        }
        guard url.isSecure, !url.isForTests else {
            return [
                "Apple accepts neither http nor a host such as \(url.host). For the real Apple, publicURL must be a",
                "public https address; to try things out, set apple.endpoint to a simulated Apple.",
            ]
        }
        return [
            "Enter in Apple's portal, https://developer.apple.com/account/resources:",
            "",
            "  Identifiers, Services IDs, \(apple.servicesID), Sign in with Apple, Configure:",
            "    Domains and Subdomains    \(url.host)",
            "    Return URLs               \(url.callbackURL)",
            "  Identifiers, App IDs, the primary App ID of that Services ID, Sign in with Apple, Edit:",
            "    Server-to-Server Notification Endpoint",
            "                              \(url.notificationURL)",
            "  Services, Sign in with Apple for Email Communication, Configure:",
            "    If your site sends e-mail, register the domains and addresses it sends from. To people who hide",
            "    their address, Apple's relay delivers only e-mail from those. Bramley itself sends no e-mail.",
        ]
    }

    /// What is left to do after `bramley init`: three things.
    func nextSteps(_ output: ConfigurationOutput) -> [String] {
        let isFound = output.path == ConfigurationLoader.defaultPath || output.isOfPackage
        let config = isFound ? "" : " --config \(output.path)"
        let flag = web.apple.isSimulatedByOverride ? " --allow-simulated-apple" : ""
        let serve = output.isOfPackage ? "sudo systemctl enable --now bramley" : "bramley serve\(config)\(flag)"
        let simulator =
            output.isOfPackage
            ? "sudo systemctl enable --now apple-simulator"
            : "apple-simulator \(Rehearsal.simulatorOptions(self)) --key \(apple.key.file ?? "FILE")"
        let first =
            apple.isSimulated
            ? "Start the simulated Apple: \(TerminalText.whole(simulator))"
            : "Enter the values above in Apple's portal."
        let doctor = (output.isOfPackage ? "sudo -u bramley " : "") + "bramley doctor\(config)"
        let login = web.publicURL.origin + web.publicURL.path("/login")
        return [
            "", "Three steps remain:",
            "  1. \(first)",
            "  2. Start the server: \(TerminalText.whole(serve))",
            "  3. Sign in at \(login), then check everything: \(TerminalText.whole(doctor))",
        ] + (apple.isSimulated ? Rehearsal.notes(self) : [])
    }
}
