internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets

struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications", abstract: "Manage notifications from Apple.",
        subcommands: [List.self, Show.self, Replay.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "List verified notifications, newest first.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions
        @Option(help: "Only notifications with this outcome.") var outcome: NotificationOutcome?

        func run(on context: OperatorDatabase) async throws {
            try await page.show(
                [
                    .init("JTI") { .code($0.id) }, .init("TYPE") { .text($0.type) },
                    .init("OUTCOME") { .text($0.outcome.rawValue) }, .init("RECEIVED") { .time($0.receivedAt) },
                    .init("EVENT TIME", optional: true) { .time($0.eventTime) },
                    .init("SUBJECT", optional: true) { .text($0.subject?.rawValue) },
                ], RecordedNotification.fields, .notifications, empty: "No notifications.", json: options.json
            ) { after, limit in
                try await context.database.notifications(outcome: outcome, after: after, limit: limit)
            }
        }
    }

    struct Show: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Show a notification and its verified payload.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The jti shown by list.") var jti: String

        func run(on context: OperatorDatabase) async throws {
            guard let found = try await context.database.notification(jti) else {
                throw CommandFailure("There is no notification \(jti).")
            }
            guard options.json else {
                let payload = Field<RecordedNotification>("payload") { .text($0.payload ?? "erased") }
                return try CommandOutput.fields(of: found, RecordedNotification.fields + [payload])
            }
            try CommandOutput.json { writer in
                writer.object { writer in
                    writer.members(of: found, RecordedNotification.fields)
                    // Written by us from verified claims, so it parses.
                    let payload = found.payload.flatMap { try? JSONReader.parse(Array($0.utf8)) }
                    writer.name("payload")
                    writer.write(payload ?? .null)
                }
            }
        }
    }

    struct Replay: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reapply notifications that had no effect.",
            discussion: """
                Use after importing people, or after updating to a version that supports more types. Notifications \
                that took effect are not applied again.
                """)

        @OptionGroup var options: CommandOptions
        @Argument(help: "One or more jti.") var jtis: [String] = []
        @Flag(help: "All notifications with the outcome unknownSubject.") var unknownSubjects = false

        func validate() throws {
            guard jtis.isEmpty == unknownSubjects else {
                throw ValidationError("Pass one or more jti, or --unknown-subjects.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let ids = unknownSubjects ? try await withUnknownSubject(context) : jtis
            var failed = 0
            // On a terminal the lines themselves show the progress.
            var bar = StandardStream.output.isTerminal ? nil : ProgressLine(total: ids.count, unit: "notifications")
            defer { bar?.clear() }
            for (index, id) in ids.enumerated() {
                bar?.update(count: index, done: index)
                let replay = try await context.database.replayNotification(id, team: context.team, at: context.now)
                if !isDone(replay) { failed += 1 }
                try report(id, replay)
            }
            if failed > 0, !unknownSubjects { throw CommandFailure("\(failed) of \(ids.count) not applied.") }
        }

        /// Oldest first, in the order of receipt.
        private func withUnknownSubject(_ context: OperatorDatabase) async throws -> [String] {
            var ids: [String] = []
            try await PageOptions.eachPage { after, limit in
                try await context.database.notifications(outcome: .unknownSubject, after: after, limit: limit)
            } _: { items in
                ids += items.filter { $0.payload != nil }.map(\.id)
            }
            return ids.reversed()
        }

        private func isDone(_ replay: NotificationReplay) -> Bool {
            switch replay {
            case .appliedBefore, .replayed(.applied), .replayed(.stale), .replayed(.duplicate): true
            case .unknown, .erased, .replayed(.unknownSubject), .replayed(.unknownType): false
            }
        }

        private func report(_ id: String, _ replay: NotificationReplay) throws {
            let (word, text) =
                switch replay {
                case .unknown: ("unknown", "there is no such notification")
                case .erased: ("erased", "its payload was erased when the person was deleted")
                case .appliedBefore: ("appliedBefore", "already applied; nothing was done")
                case .replayed(let outcome): (outcome.rawValue, outcome.rawValue)
                }
            try options.show("\(TerminalText.safe(id))\t\(text)", [("jti", .code(id)), ("outcome", .text(word))])
        }
    }
}
