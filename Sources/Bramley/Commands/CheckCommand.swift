import Accounts
package import ArgumentParser
import Coding
import Crypto
import Web

/// `bramley check`
package struct CheckCommand: ReportingCommand {
    package static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Validate the configuration and report every problem. Exit 0 or 1.")

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print the reference of all keys as Markdown instead.")
    var reference = false

    @Flag(help: "Print the JSON Schema of the configuration file for editors instead.")
    var schema = false

    package init() {}

    package func perform() async throws {
        if reference {
            try CommandOutput.write(Array(ConfigurationTable.reference.utf8))
            return
        }
        if schema {
            try CommandOutput.write(Array(ConfigurationSchema.text.utf8))
            return
        }
        let loaded = try Self.load(options.input)
        try CommandOutput.line((await clients(loaded) + Self.summary(of: loaded)).joined(separator: "\n"))
    }

    /// Loads a configuration and renders every page as `serve` would, with invented people, to find what only a finished
    /// page shows.
    /// - Throws: every problem with either, including a missing sealing key.
    package static func load(_ input: ConfigurationInput) throws(ConfigurationFailure) -> LoadedConfiguration {
        try ConfigurationLoader.load(input) { configuration in
            let pages = PageCheck.problems(configuration.web).map { problem in
                ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
            }
            return pages + [SealingKeyFile.problem(configuration)].compactMap(\.self)
        }
    }

    /// What the configuration and the registered clients say of each other, where there is a database.
    private func clients(_ loaded: LoadedConfiguration) async -> [String] {
        guard let place = try? OperatorDatabase.open(options.input) else { return [] }
        defer { place.database.close() }
        return await Doctor.clients(place.database, loaded.configuration, at: place.now)
            .filter { $0.state != .good }.flatMap(\.lines)
    }

    /// What an operator wants to read when it is valid: the warnings, and the settings for Apple's portal.
    package static func summary(of loaded: LoadedConfiguration) -> [String] {
        var lines = loaded.warnings.map(\.description)
        let configuration = loaded.configuration
        switch loaded.warnings.count {
        case 0: lines.append("The configuration is good.")
        case let count:
            lines.append("The configuration can be used, with \(count) warning\(count == 1 ? "" : "s") above.")
        }
        lines.append("  pages are in            \(configuration.web.locales.joined(separator: ", "))")
        lines.append("  visitors come to        \(configuration.web.publicURL.absolute)")
        if let leaf = configuration.server.tls.flatMap({ try? CertificateChain(pem: $0.certificate) })?.leaf {
            let end = Timestamp(seconds: leaf.notAfter).rfc3339
            lines.append("  TLS is here             for \(leaf.names.joined(separator: ", ")), until \(end)")
        }
        if let port = configuration.server.redirectPort {
            lines.append("  plain port \(port) leads to \(configuration.web.publicURL.origin)")
        }
        if let rules = configuration.web.accessRules?.rules {
            lines.append("  access rules            \(rules.count); elsewhere everybody who is signed in")
        }
        if !configuration.web.assertionAudiences.isEmpty {
            lines.append("  keys of assertions at   \(configuration.web.publicURL.absolute)/.well-known/jwks.json")
        }
        for endpoint in configuration.webhooks {
            lines.append("  events go to            \(WebhookEndpoint.name(of: endpoint.url))")
        }
        return lines + [""] + configuration.portalLines
    }
}
