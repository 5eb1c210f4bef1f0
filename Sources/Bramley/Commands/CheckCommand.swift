import Accounts
package import ArgumentParser
import Coding
import Crypto
import Web

package struct CheckCommand: ReportingCommand {
    package static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Validate the configuration and report every problem. Exit 0 or 1.")

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Print a Markdown reference of all keys instead.") var reference = false
    @Flag(help: "Print a JSON Schema of the configuration file, for editors, instead.") var schema = false

    package init() {}

    package func perform() async throws {
        if reference { return try CommandOutput.write(Array(ConfigurationTable.reference.utf8)) }
        if schema { return try CommandOutput.write(Array(ConfigurationSchema.text.utf8)) }
        let loaded = try Self.load(options.input(.reported))
        try CommandOutput.line((await clients(loaded) + Self.summary(of: loaded)).joined(separator: "\n"))
    }

    /// Loads a configuration and renders every page with invented people, to find what only a finished page shows.
    package static func load(_ input: ConfigurationInput) throws(ConfigurationFailure) -> LoadedConfiguration {
        try ConfigurationLoader.load(input) { configuration in
            let pages = configuration.web.pageProblems().map { problem in
                ConfigurationProblem(key: "pages.directory", fault: problem.sentence, remedy: problem.remedy)
            }
            return pages + [SealingKeyFile.problem(configuration)].compactMap(\.self)
        }
    }

    /// What the configuration and the registered clients say of each other, where there is a database.
    private func clients(_ loaded: LoadedConfiguration) async -> [String] {
        guard let context = try? OperatorDatabase.open(options.input(.reported)) else { return [] }
        defer { context.database.close() }
        return await Doctor.clients(context.database, loaded.configuration, at: context.now)
            .filter { $0.state != .good }.flatMap(\.lines)
    }

    package static func summary(of loaded: LoadedConfiguration) -> [String] {
        let (configuration, count) = (loaded.configuration, loaded.warnings.count)
        var lines =
            loaded.warnings.map(\.description) + [
                count == 0
                    ? "The configuration is valid."
                    : "The configuration is valid, with \(Quantity.count(count, "warning")) above.",
                "  page languages          \(configuration.web.locales.joined(separator: ", "))",
                "  public address          \(configuration.web.publicURL.absolute)",
            ]
        if let color = configuration.web.site.accentColor {
            lines.append("  accent colour           \(color.text), in dark mode \(color.lightened.text)")
        }
        if let leaf = configuration.server.tls.flatMap({ try? CertificateChain(pem: $0.certificate) })?.leaf {
            let end = Timestamp(seconds: leaf.notAfter).rfc3339
            lines.append("  TLS certificate         for \(leaf.names.joined(separator: ", ")), until \(end)")
        }
        if let port = configuration.server.redirectPort {
            lines.append("  port \(port) redirects to  \(configuration.web.publicURL.origin)")
        }
        if let rules = configuration.web.accessRules?.rules {
            lines.append("  access rules            \(rules.count); elsewhere, everyone who is signed in")
        }
        if !configuration.web.assertionAudiences.isEmpty {
            lines.append("  assertion keys          \(configuration.web.publicURL.absolute)/.well-known/jwks.json")
        }
        lines += configuration.webhooks.map { "  webhook endpoint        \(WebhookEndpoint.name(of: $0.url))" }
        return lines + [""] + configuration.portalLines
    }
}
