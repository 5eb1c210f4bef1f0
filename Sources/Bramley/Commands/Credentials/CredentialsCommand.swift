internal import Accounts
import ArgumentParser
internal import Coding

struct CredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "Manage Apple's authorizations and the tokens sealed here.",
        subcommands: [Status.self, Resume.self, Revocations.self, Reseal.self])

    struct Status: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Show the state of the daily checks at Apple.")

        @OptionGroup var options: CommandOptions

        func run(on place: OperatorDatabase) async throws {
            let now = place.now
            let status = try await place.database.checkStatus(place.configuration.checkScope, at: now)
            if options.json { return try CommandOutput.json { $0.write(status.members) } }
            try show(status)
        }

        private func show(_ status: CheckStatus) throws {
            let style = CommandOutput.tableStyle
            var fields: [(String, String?)] = status.numbers.map { ($0.name, $0.value.shown(style)) }
            fields += [
                ("stoppedAt", status.gate.brake?.since.shown(style)),
                ("stoppedBy", status.gate.brake.map { "\($0.dead) dead of \($0.checks)" }),
                ("wavesAcceptedUntil", status.acceptsUntil?.shown(style)),
            ]
            for pause in status.gate.pauses {
                fields.append(
                    (
                        "refused",
                        "\(pause.clientID.rawValue) since \(pause.since.shown(style)): \(pause.detail); next attempt "
                            + pause.nextTryAt.shown(style)
                    ))
            }
            try CommandOutput.table(
                TextTable([.init(""), .init("", flexible: true)], rows: fields.map { [$0.0, $0.1] }))
            if status.gate.brake != nil {
                CommandOutput.hint("A wave stopped the checks. Read docs/operate/jobs.md before you resume them.")
            }
            if !status.gate.pauses.isEmpty {
                CommandOutput.hint(
                    "Apple refuses this server: look at apple.keyID, its .p8, apple.teamID and the client.")
            }
        }
    }

    struct Resume: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume daily checks after a stop.",
            discussion: """
                Held-back answers are dropped and those credentials are checked again after a day: use this if Apple \
                made a mistake. With --accept they take effect now, and nothing is held back for 24 hours.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions

        @Flag(help: "The revocations are real: sign these people out. Asks for confirmation.")
        var accept = false

        func run(on place: OperatorDatabase) async throws {
            if accept {
                let status = try await place.database.checkStatus(place.configuration.checkScope, at: place.now)
                guard status.gate.brake != nil else {
                    throw CommandFailure("No wave was stopped: there is nothing to accept.")
                }
                try confirmation.confirm(
                    """
                    \(status.heldBack) held-back \(status.heldBack == 1 ? "credential ends" : "credentials end") with \
                    all sessions, and for 24 hours no wave is stopped.
                    """)
            }
            let done = try await ProgressLine.during("resuming the checks") {
                try await place.database.resumeChecks(accepting: accept, at: place.now)
            }
            try options.show(
                Self.text(done, accepted: accept),
                [
                    ("wasStopped", .flag(done.gate.brake != nil)), ("wasRefused", .number(done.gate.pauses.count)),
                    ("ended", .number(done.died)), ("sessionsEnded", .number(done.sessions)),
                    ("forgotten", .number(done.forgotten)),
                ])
        }

        private static func text(_ done: CheckResumption, accepted: Bool) -> String {
            let stood = done.gate.brake != nil || !done.gate.pauses.isEmpty
            var text = stood ? "the checks go on" : "nothing had stopped the checks"
            if accepted { text += "; \(done.died) held back ended, with \(done.sessions) sessions" }
            if done.forgotten > 0 { text += "; \(done.forgotten) held back will be asked about again" }
            return text
        }
    }

    struct Revocations: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List token revocations of deleted accounts that are waiting or failed.",
            discussion: """
                The list does not say who was deleted. Waiting revocations are retried for seven days. For a failed \
                one no token is left: the person can remove the site in their Apple Account.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        @Flag(
            help:
                "Retry all waiting revocations now, for example after fixing a key. A running server sends the requests."
        )
        var retry = false

        func run(on place: OperatorDatabase) async throws {
            if retry {
                let count = try await place.database.retryRevocations(at: place.now)
                try options.show(
                    count == 1 ? "1 revocation is due now" : "\(count) revocations are due now",
                    [("retried", .number(count))])
            } else {
                try await list(place)
            }
        }

        private func list(_ place: OperatorDatabase) async throws {
            // Ids are in the order of deletion.
            try await page.show(
                [
                    .init("ID") { .number(Int($0.id)) }, .init("STATE") { .text($0.state.rawValue) },
                    .init("CLIENT", flexible: true) { .text($0.clientID.rawValue) },
                    .init("DELETED") { .time($0.queuedAt) }, .init("NEXT") { .time($0.nextAttemptAt) },
                    .init("UNTIL", optional: true) { .time($0.endsAt) },
                    .init("ATTEMPTS", optional: true) { .number($0.attempts) },
                    .init("WHY", flexible: true) { .text($0.failure) },
                ], RevocationReport.fields, .revocations, empty: "Apple knows of every deleted account.",
                json: options.json
            ) { after, limit in
                try await place.database.revocations(after: after, limit: limit, at: place.now)
            }
        }
    }
}

extension CheckStatus {
    /// The state in one word.
    var word: String {
        if gate.brake != nil { return "stopped" }
        return gate.pauses.isEmpty ? "running" : "refused"
    }

    /// In JSON and for a person.
    fileprivate var numbers: [FieldValue.Member] {
        [
            ("checks", .text(word)), ("live", .number(live)), ("due", .number(due)), ("dueSince", .time(dueSince)),
            ("lastHourAlive", .number(alive)), ("lastHourDead", .number(dead)), ("heldBack", .number(heldBack)),
        ]
    }

    /// In JSON.
    fileprivate var members: [FieldValue.Member] {
        numbers + [
            (
                "brake",
                .object(
                    gate.brake.map { brake in
                        [
                            ("since", .time(brake.since)), ("dead", .number(brake.dead)),
                            ("checks", .number(brake.checks)),
                        ]
                    })
            ),
            ("wavesAcceptedUntil", .time(acceptsUntil)),
            (
                "refused",
                .objects(
                    gate.pauses.map { pause in
                        [
                            ("clientID", .code(pause.clientID.rawValue)), ("since", .time(pause.since)),
                            ("nextAttemptAt", .time(pause.nextTryAt)), ("attempts", .number(pause.attempts)),
                            ("detail", .text(pause.detail)),
                        ]
                    })
            ),
        ]
    }
}
