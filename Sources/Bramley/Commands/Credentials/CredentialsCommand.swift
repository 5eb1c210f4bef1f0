internal import Accounts
import ArgumentParser
import Coding

struct CredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "Manage Apple's authorizations and the stored tokens.",
        subcommands: [Status.self, Resume.self, Revocations.self, Reseal.self])

    struct Status: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Show the state of the daily checks with Apple.")

        @OptionGroup var options: CommandOptions

        func run(on context: OperatorDatabase) async throws {
            let status = try await context.database.checkStatus(context.configuration.checkScope, at: context.now)
            if options.json { return try CommandOutput.json { $0.write(status.members) } }
            try show(status)
        }

        private func show(_ status: CheckStatus) throws {
            let style = CommandOutput.tableStyle
            var fields: [(name: String, text: String?)] = status.numbers.map { ($0.name, $0.value.shown(style)) }
            fields += [
                ("stoppedAt", status.gate.brake?.since.shown(style)),
                ("stoppedBy", status.gate.brake.map { "\($0.dead) dead of \($0.checks)" }),
                ("wavesAcceptedUntil", status.acceptsUntil?.shown(style)),
            ]
            for pause in status.gate.pauses {
                let (client, next) = (pause.clientID.rawValue, pause.nextTryAt.shown(style))
                fields.append(
                    ("refused", "\(client) since \(pause.since.shown(style)): \(pause.detail); next attempt \(next)"))
            }
            try CommandOutput.rows(fields)
            if status.gate.brake != nil {
                CommandOutput.hint(
                    "A wave of revocations stopped the checks. Read docs/operate/jobs.md before you resume them.")
            }
            if !status.gate.pauses.isEmpty {
                CommandOutput.hint(
                    "Apple rejects this server's credentials. Check apple.keyID, its .p8, apple.teamID and the client.")
            }
        }
    }

    struct Resume: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume the daily checks after a stop.",
            discussion: """
                Drops the answers that were held back and checks those credentials again after a day; use this if \
                Apple made a mistake. With --accept, the answers take effect now, and nothing is held back for 24 hours.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Flag(help: "Accept the revocations and sign these people out. Asks for confirmation.") var accept = false

        func run(on context: OperatorDatabase) async throws {
            if accept {
                let status = try await context.database.checkStatus(context.configuration.checkScope, at: context.now)
                guard status.gate.brake != nil else {
                    throw CommandFailure("No wave of revocations was stopped, so there is nothing to accept.")
                }
                try await confirmation.confirm(
                    """
                    \(Quantity.count(status.heldBack, "held-back credential")) will end with all their sessions, and \
                    for 24 hours no wave of revocations will be stopped.
                    """)
            }
            let done = try await ProgressLine.during("resuming the checks") {
                try await context.database.resumeChecks(accepting: accept, at: context.now)
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
            var text = stood ? "checks resumed" : "the checks were not stopped"
            let heldBack = "held-back credential"
            if accepted {
                text += "; \(Quantity.count(done.died, heldBack)) and \(Quantity.count(done.sessions, "session")) ended"
            }
            if done.forgotten > 0 { text += "; \(Quantity.count(done.forgotten, heldBack)) will be checked again" }
            return text
        }
    }

    struct Revocations: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List waiting and failed token revocations of deleted users.",
            discussion: """
                The list does not say who was deleted. Waiting revocations are retried for seven days. The \
                token of a failed one is gone; the person can still remove the site in their Apple Account.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        @Flag(
            help:
                "Retry all waiting revocations now, for example after fixing a key. A running server sends the requests."
        )
        var retry = false

        func run(on context: OperatorDatabase) async throws {
            if retry {
                let count = try await context.database.retryRevocations(at: context.now)
                return try options.show(
                    count == 1 ? "1 revocation is due now" : "\(count) revocations are due now",
                    [("retried", .number(count))])
            }
            // Ids are in the order of deletion.
            try await page.show(
                [
                    .init("ID") { .number(Int($0.id)) }, .init("STATE") { .text($0.state.rawValue) },
                    .init("CLIENT", flexible: true) { .text($0.clientID.rawValue) },
                    .init("DELETED", optional: true) { .time($0.queuedAt) },
                    .init("NEXT", optional: true) { .time($0.nextAttemptAt) },
                    .init("UNTIL", optional: true) { .time($0.endsAt) },
                    .init("ATTEMPTS", optional: true) { .number($0.attempts) },
                    .init("REASON", flexible: true) { .text($0.failure) },
                ], RevocationReport.fields, .revocations, empty: "No revocations are waiting or failed.",
                json: options.json
            ) { after, limit in try await context.database.revocations(after: after, limit: limit, at: context.now) }
        }
    }
}

extension CheckStatus {
    var word: String {
        if gate.brake != nil { return "stopped" }
        return gate.pauses.isEmpty ? "running" : "refused"
    }

    fileprivate var numbers: [FieldValue.Member] {
        [
            ("checks", .text(word)), ("live", .number(live)), ("due", .number(due)), ("dueSince", .time(dueSince)),
            ("lastHourAlive", .number(alive)), ("lastHourDead", .number(dead)), ("heldBack", .number(heldBack)),
        ]
    }

    fileprivate var members: [FieldValue.Member] {
        let brake = gate.brake.map { brake -> [FieldValue.Member] in
            [("since", .time(brake.since)), ("dead", .number(brake.dead)), ("checks", .number(brake.checks))]
        }
        let refused = gate.pauses.map { pause -> [FieldValue.Member] in
            [
                ("clientID", .code(pause.clientID.rawValue)), ("since", .time(pause.since)),
                ("nextAttemptAt", .time(pause.nextTryAt)), ("attempts", .number(pause.attempts)),
                ("detail", .text(pause.detail)),
            ]
        }
        return numbers + [
            ("brake", .object(brake)), ("wavesAcceptedUntil", .time(acceptsUntil)), ("refused", .objects(refused)),
        ]
    }
}
