import ArgumentParser
import Logging
internal import Sockets
internal import Storage

/// `bramley serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Run the server.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let input = options.input
        let loaded: LoadedConfiguration
        do throws(ConfigurationFailure) {
            loaded = try ConfigurationLoader.load(input)
        } catch {
            throw error.report()
        }
        let log = loaded.configuration.log
        let output = StandardError(notice: { lost in
            LineLogHandler.line(
                .warning, "log lines dropped", ["count": "\(lost)"], label: "bramley",
                format: log.format, at: SystemClock().now())
        })
        let prompt = PromptStandardError()
        let sink: LogQueue
        do throws(SystemError) {
            sink = try LogQueue(output, direct: prompt?.write)
        } catch {
            CommandOutput.remark("error: The thread that writes the log cannot be started: \(error).")
            throw ExitCode(1)
        }
        let logger = Logger(label: "bramley") { label in
            LineLogHandler(
                label: label, level: log.level, format: log.format, sink: sink, now: { SystemClock().now() })
        }
        for warning in loaded.warnings {
            logger.warning("configuration", metadata: ["detail": .string(warning.description)])
        }
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
