import Accounts
import ArgumentParser
internal import Coding
internal import Sockets
internal import Storage
internal import Web

/// `bramley notifications`
struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications", abstract: "Manage notifications from Apple.",
        subcommands: [
            NotificationsListCommand.self, NotificationsShowCommand.self, NotificationsReplayCommand.self,
        ])

}

/// `bramley notifications list`
struct NotificationsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List verified notifications, newest first.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var page: PageOptions

    @Option(help: "Only notifications with this outcome.")
    var outcome: NotificationOutcome?

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let style = CommandOutput.tableStyle
            let list = CommandList<RecordedNotification>(
                [
                    .init("JTI"), .init("TYPE"), .init("OUTCOME"), .init("RECEIVED"),
                    .init("EVENT TIME", optional: true), .init("SUBJECT", flexible: true, optional: true),
                ],
                empty: "None.",
                row: { item in
                    [
                        item.id, item.type, item.outcome.rawValue, item.receivedAt.shown(style),
                        item.eventTime.shown(style), item.subject?.rawValue,
                    ]
                }, document: { NotificationDocument.write($0, to: &$1) })
            try await list.show(page, json: output.json) { after, limit in
                let after = after.map { NotificationCursor(receivedAt: $0.moment, id: $0.id) }
                let found = try await place.database.notifications(outcome: outcome, after: after, limit: limit)
                return (found.items, found.next.map { CommandCursor.encode($0.receivedAt, $0.id) })
            }
        }
    }
}

/// `bramley notifications show`
struct NotificationsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a notification and its verified payload.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The jti shown by list.")
    var jti: String

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            guard let found = try await place.database.notification(jti) else {
                throw CommandFailure("There is no notification \(jti).")
            }
            if output.json {
                try CommandOutput.json { NotificationDocument.write(found, includingPayload: true, to: &$0) }
                return
            }
            let style = CommandOutput.tableStyle
            let fields: [(String, String?)] = [
                ("jti", found.id), ("type", found.type), ("clientID", found.clientID.rawValue),
                ("subject", found.subject?.rawValue), ("eventTime", found.eventTime.shown(style)),
                ("receivedAt", found.receivedAt.shown(style)), ("outcome", found.outcome.rawValue),
                ("payload", found.payload ?? "erased"),
            ]
            try CommandOutput.table(TextTable([.init(""), .init("")], rows: fields.map { [$0.0, $0.1] }))
        }
    }
}

/// `bramley notifications replay`
struct NotificationsReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Apply notifications again that had no effect.",
        discussion: """
            Use after importing people, or after an update that knows more types. Notifications that took effect are not \
            applied again.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "One or more jti.")
    var jtis: [String] = []

    @Flag(help: "All notifications with the outcome unknownSubject.")
    var unknownSubjects = false

    func validate() throws {
        guard jtis.isEmpty == unknownSubjects else { throw ValidationError("Name the jti, or --unknown-subjects.") }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let ids = unknownSubjects ? try await withUnknownSubject(place) : jtis
            var failed = 0
            // On a terminal the lines themselves show the progress.
            var bar = StandardStream.output.isTerminal ? nil : ProgressLine(total: ids.count, unit: "notifications")
            defer { bar?.clear() }
            for (index, id) in ids.enumerated() {
                bar?.update(count: index, done: index)
                let replay = try await place.database.replayNotification(id, team: place.team, at: place.now)
                if !isDone(replay) { failed += 1 }
                try report(id, replay)
            }
            if failed > 0, !unknownSubjects { throw CommandFailure("\(failed) of \(ids.count) not applied.") }
        }
    }

    /// Oldest first, in the order of receipt.
    private func withUnknownSubject(_ place: OperatorDatabase) async throws -> [String] {
        var ids: [String] = []
        var cursor: NotificationCursor?
        repeat {
            let page = try await place.database.notifications(
                outcome: .unknownSubject, after: cursor, limit: PageOptions.maximum)
            ids += page.items.filter { $0.payload != nil }.map(\.id)
            cursor = page.next
        } while cursor != nil
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
            case .erased: ("erased", "its payload was erased with the person it was about")
            case .appliedBefore: ("appliedBefore", "was applied before; nothing was done")
            case .replayed(let outcome): (outcome.rawValue, outcome.rawValue)
            }
        if output.json {
            try CommandOutput.json { writer in
                writer.beginObject()
                writer.member("jti", id)
                writer.member("outcome", word)
                writer.endObject()
            }
        } else {
            try CommandOutput.line("\(TerminalText.safe(id))\t\(text)")
        }
    }
}
