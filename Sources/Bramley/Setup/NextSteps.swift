internal import Web

/// What is left to do after `bramley init`: three things.
enum NextSteps {
    static func lines(_ configuration: Configuration, _ output: ConfigurationOutput) -> [String] {
        let isFound = output.path == ConfigurationLoader.defaultPath || output.isOfPackage
        let config = isFound ? "" : " --config \(output.path)"
        let serve = output.isOfPackage ? "sudo systemctl enable --now bramley" : "bramley serve\(config)"
        let first =
            configuration.apple.isSimulated
            ? "Start the simulated Apple: apple-simulator --help."
            : "Enter the values above in Apple's portal."
        let doctor = (output.isOfPackage ? "sudo -u bramley " : "") + "bramley doctor\(config)"
        let login = configuration.web.publicURL.origin + configuration.web.publicURL.path("/login")
        return [
            "", "Three things are left:",
            "  1. \(first)",
            "  2. Start the server: \(serve)",
            "  3. Sign in at \(login), then check everything: \(doctor)",
        ]
    }
}
