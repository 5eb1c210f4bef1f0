import ArgumentParser
internal import Coding
import Logging
internal import Sockets
internal import Storage

struct ServeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Run the server.")

    @Flag(
        help: """
            Accept an endpoint, issuer or script that is not Apple's even if publicURL is a real site. For tests \
            only: whoever runs that endpoint can sign in as anyone, and every page says so.
            """)
    var allowSimulatedApple = false

    @OptionGroup var options: ConfigurationOptions

    func perform() async throws {
        let input = options.input(allowSimulatedApple ? .accepted : .refused)
        let loaded = try ConfigurationLoader.load(input)
        let (level, format) = (loaded.configuration.logLevel, loaded.configuration.logFormat)
        let output = StandardError(notice: { lost in
            LineLogHandler.line(
                .warning, "log lines dropped", ["count": .stringConvertible(lost)], label: "bramley",
                format: format, at: SystemClock().now())
        })
        let prompt = NonblockingStandardError()
        let sink = try await translating(try LogQueue(output, direct: prompt?.write)) { (error: SystemError) in
            CommandFailure("The thread that writes the log cannot be started: \(error).")
        }
        let logger = Logger(label: "bramley") { label in
            LineLogHandler(label: label, level: level, format: format, sink: sink, now: { SystemClock().now() })
        }
        for warning in loaded.warnings { logger.configurationWarning(warning.description) }
        do {
            try await Server.run(
                configuration: loaded.configuration, readFrom: input,
                program: ProgramStart(environment: input.environment), runtime: Runtime(logger: logger),
                lostLogLines: { sink.lostLines })
        } catch {
            logger.critical("bramley cannot serve", metadata: ["cause": "\(error)"])
            await sink.flush()
            throw ExitCode(1)
        }
        await sink.flush()
    }
}
