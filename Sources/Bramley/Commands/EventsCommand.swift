internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets
internal import Web

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Show the journal of changes.", subcommands: [Tail.self])

    struct Tail: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the newest events; --follow continues with new ones.")

        private static let interval = Duration.milliseconds(200)
        private static let part = 500

        @OptionGroup var options: CommandOptions
        @Flag(name: .shortAndLong, help: "Follow until interrupted.") var follow = false

        @Option(
            name: [.customShort("n"), .long],
            help: ArgumentHelp("Number of recent events, 0 to \(PageOptions.maximum).", valueName: "count"))
        var lines = 20

        @Option(help: ArgumentHelp("Show all events after this one instead.", valueName: "id")) var after: EventID?

        @Option(help: ArgumentHelp("Only this type. Repeatable.", valueName: "type"))
        var type: [JournalEntry.Kind] = []

        @Option(
            help: ArgumentHelp("Only events about this person. Use the id for a deleted person.", valueName: "person"))
        var user: UserReference?

        func validate() throws {
            guard (0...PageOptions.maximum).contains(lines) else {
                throw ValidationError("--lines must be 0 to \(PageOptions.maximum).")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            try await Interruption.cancelling { try await show(context) }
        }

        private func show(_ context: OperatorDatabase) async throws {
            let filter = JournalFilter(kinds: Set(type), user: try await user?.id(in: context))
            var position: Int64
            if let after {
                guard let found = try await context.database.position(of: after) else {
                    throw CommandFailure("There is no event \(after), or it is no longer kept.")
                }
                position = found
            } else {
                let last = try await context.database.lastEvents(filter, limit: lines)
                try write(last.entries)
                position = last.end
            }
            while !Task.isCancelled {
                let part = try await context.database.events(filter, after: position, limit: Self.part)
                try write(part.entries)
                if part.end > position {
                    position = part.end
                    continue
                }
                guard follow else { return }
                // The reader is gone, which writing would not notice while there are no events.
                guard !StandardStream.output.hasLostItsReader else { throw ExitCode.success }
                try? await Task.sleep(for: Self.interval)
            }
        }

        private func write(_ entries: [JournalEntry]) throws {
            guard !entries.isEmpty else { return }
            var bytes: [UInt8] = []
            for entry in entries {
                if options.json {
                    var writer = JSONWriter(reserving: 256)
                    entry.write(to: &writer)
                    bytes += writer.bytes
                } else {
                    bytes += Self.line(entry, CommandOutput.tableStyle).utf8
                }
                bytes.append(UInt8(ascii: "\n"))
            }
            try CommandOutput.write(bytes)
        }

        /// Columns for a person, tabs for a script. Each line by itself: the next one is not known yet.
        static func line(_ entry: JournalEntry, _ style: TextTable.Style) -> String {
            let words = [
                entry.time.rfc3339, entry.kind.rawValue, entry.user.rawValue, entry.session?.rawValue ?? "",
                entry.cause?.rawValue ?? "", entry.fields.joined(separator: ","),
            ]
            guard case .terminal = style else { return words.map(TerminalText.safe).joined(separator: "\t") }
            let type = words[1] + String(repeating: " ", count: max(0, 16 - words[1].utf8.count))
            return ([words[0], type] + words[2...].filter { !$0.isEmpty }).map(TerminalText.safe).joined(
                separator: "  ")
        }
    }
}
