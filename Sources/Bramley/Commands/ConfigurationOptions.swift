package import ArgumentParser
import FoundationEssentials

/// The options that `serve` and `check` share.
package struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp(ConfigurationLoader.pathHelp, valueName: "file"))
    package var config: String?

    @Flag(
        help: """
            Accept an endpoint, issuer or script that is not Apple's although publicURL is a real site. For tests only: \
            whoever runs that endpoint can sign in as anyone, and every page says so.
            """)
    package var allowSimulatedApple = false

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Any configuration key as a flag, such as --server-port 8081. See docs/configuration.md.",
            valueName: "--key value"))
    package var keys: [String] = []

    package init() {}

    /// These options with this process's environment.
    package var input: ConfigurationInput {
        ConfigurationInput(
            path: config, environment: ProcessInfo.processInfo.environment, flags: keys,
            allowsSimulatedApple: allowSimulatedApple)
    }
}

extension ConfigurationFailure {
    /// Writes every problem to standard error and returns the exit code to throw.
    func report() -> ExitCode {
        StandardError().write([UInt8]((description + "\n").utf8))
        return ExitCode(1)
    }
}
