import ArgumentParser
internal import Coding
internal import Sockets

/// `bramley users import`
struct UsersImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import people who already use Sign in with Apple, as JSON lines.",
        discussion: """
            Fills empty fields and overwrites nothing, so you can import a file again. docs/importing.md describes the \
            members, and how to export people from other products.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Report what would happen without changing anything.")
    var dryRun = false

    @Option(
        name: .customLong("from"), help: ArgumentHelp("The product that wrote the lines.", valueName: "product"))
    var format = ImportFormat.bramley

    @Argument(help: "A file of JSON lines, or - for standard input.")
    var file: String

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let (file, format, dryRun) = (file, format, dryRun)
            let (report, advice) = try await Interruption.cancelling {
                let input = try InputFile.open(
                    file, without: 0o077,
                    "read by others, and refresh tokens are secrets: run chmod 600 \(file), and delete it when you are "
                        + "done.")
                var run = ImportRun(input, from: format, place: place, isRehearsal: dryRun)
                return (try await run.run(), run.advice)
            }
            if output.json {
                try CommandOutput.json { report.write(to: &$0) }
            } else {
                try CommandOutput.line(report.text)
            }
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue: what is there is kept.")
            }
            try Self.judge(report, advice)
        }
    }

    /// - Throws: `ExitCode` or `CommandFailure` for an import that lacks somebody.
    private static func judge(_ report: ImportReport, _ advice: ImportAdvice) throws {
        if report.lines > 0, report.recognised == 0 {
            CommandOutput.remark("warning: \(advice.text)")
            throw ExitCode(CommandFailure.unusableData)
        }
        if report.refused > 0 { throw CommandFailure("\(report.refused) lines refused; each has its reason above.") }
        if report.otherIdentities > 0 {
            throw CommandFailure(
                "\(report.otherIdentities) further Apple identities not imported; each is named above.")
        }
    }
}
