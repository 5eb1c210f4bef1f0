package import ArgumentParser
internal import Coding
internal import RelyingParty
internal import Storage

/// `bramley webhooks`
package struct WebhooksCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Events on their way to applications.",
        subcommands: [WebhooksListCommand.self, WebhooksRetryCommand.self])

    package init() {}
}

/// `bramley webhooks list`
package struct WebhooksListCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "The endpoints: what waits, since when, how the last attempts went, and what was given up.")

    /// The most dead letters shown, the newest.
    private static let limit = 1_000

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Flag(help: "The dead letters one by one instead, the newest first.")
    package var dead = false

    package init() {}

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if dead {
                try show(try await place.database.deadWebhooks(limit: Self.limit))
            } else {
                try show(try await place.database.webhookEndpoints(), at: place.now)
            }
        }
    }

    private func show(_ endpoints: [WebhookEndpoint], at now: Timestamp) throws {
        if output.json {
            try CommandOutput.jsonList(endpoints, next: nil) { WebhookDocument.write($0, at: now, to: &$1) }
            return
        }
        let style = CommandOutput.tableStyle
        try CommandOutput.table(
            TextTable(
                [
                    .init("ENDPOINT", flexible: true), .init("STATE"), .init("WAITING"), .init("OLDEST"), .init("DEAD"),
                    .init("LAST SUCCESS"), .init("LAST FAILURE"), .init("WHY", flexible: true),
                ],
                rows: endpoints.map { endpoint in
                    [
                        endpoint.url, endpoint.state(at: now).rawValue, String(endpoint.backlog),
                        endpoint.oldest?.shown(style), String(endpoint.deadLetters),
                        endpoint.lastSuccessAt?.shown(style), endpoint.lastFailureAt?.shown(style),
                        // Beside "ok", the reason of a failure that is over reads like one of now.
                        endpoint.state(at: now) == .ok ? nil : endpoint.lastFailure,
                    ]
                }))
        if endpoints.isEmpty { CommandOutput.hint("No endpoints: name some in webhooks.url and start the server.") }
        if endpoints.contains(where: { $0.stoppedAt != nil }) {
            CommandOutput.hint(
                "A stopped endpoint answered 410. bramley webhooks retry --endpoint URL lets it go on.")
        }
    }

    private func show(_ letters: [DeadWebhook]) throws {
        if output.json {
            try CommandOutput.jsonList(letters, next: nil) { WebhookDocument.write($0, to: &$1) }
            return
        }
        let style = CommandOutput.tableStyle
        try CommandOutput.table(
            TextTable(
                [
                    .init("EVENT"), .init("TYPE"), .init("USER"), .init("ENDPOINT", flexible: true),
                    .init("ATTEMPTS"), .init("GIVEN UP"), .init("WHY", flexible: true),
                ],
                rows: letters.map { letter in
                    [
                        letter.entry.id.rawValue, letter.entry.kind.rawValue, letter.entry.user.rawValue, letter.url,
                        String(letter.attempts), letter.diedAt.shown(style), letter.failure,
                    ]
                }))
        if letters.isEmpty { CommandOutput.hint("No dead letters.") }
    }
}

/// `bramley webhooks retry`
package struct WebhooksRetryCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Send again what waits or was given up: now, under the same ids, with all its attempts before it.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Argument(help: "One event, evt_…, at every endpoint that has not taken it.")
    package var id: String?

    @Flag(help: "Every dead letter.")
    package var allDead = false

    @Option(
        help: ArgumentHelp(
            "All that waits for this endpoint and its dead letters. One that stopped goes on.", valueName: "url"))
    package var endpoint: String?

    package init() {}

    package func validate() throws {
        guard [id != nil, allDead, endpoint != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Name one of: an event's id, --all-dead, --endpoint URL.")
        }
        guard id.map({ EventID(parsing: $0) != nil }) ?? true else {
            throw ValidationError("Name the event by its id, evt_ and 26 characters, as webhooks list --dead shows it.")
        }
    }

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let database = place.database
            let endpoints = try await database.webhookEndpoints()
            let retry: WebhookRetry
            if let id {
                retry = .event(EventID(unchecked: id))
            } else if let endpoint {
                guard endpoints.contains(where: { $0.url.utf8.elementsEqual(endpoint.utf8) }) else {
                    throw CommandFailure("There is no endpoint \(endpoint). bramley webhooks list shows them.")
                }
                retry = .endpoint(url: endpoint)
            } else {
                retry = .allDead
            }
            let count = try await database.retryWebhooks(retry, at: place.now)
            if let id, count == 0 { throw CommandFailure("No endpoint waits for \(id), and it is no dead letter.") }
            if output.json {
                try CommandOutput.json { writer in
                    writer.beginObject()
                    writer.member("retried", Int64(count))
                    writer.endObject()
                }
            } else {
                try CommandOutput.line(count == 1 ? "1 delivery begins anew" : "\(count) deliveries begin anew")
            }
        }
    }
}

extension WebhookEndpoint {
    enum State: String {
        case ok, failing, paused, stopped
    }

    /// One word for the whole.
    func state(at now: Timestamp) -> State {
        if stoppedAt != nil { return .stopped }
        if let pausedUntil, now < pausedUntil { return .paused }
        return failingSince == nil ? .ok : .failing
    }
}

/// The queue as JSON.
enum WebhookDocument {
    static func write(_ endpoint: WebhookEndpoint, at now: Timestamp, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("url", endpoint.url)
        writer.member("state", endpoint.state(at: now).rawValue)
        writer.member("addedAt", endpoint.addedAt)
        writer.member("waiting", Int64(endpoint.backlog))
        writer.member("oldest", endpoint.oldest)
        writer.member("deadLetters", Int64(endpoint.deadLetters))
        writer.member("lastSuccessAt", endpoint.lastSuccessAt)
        writer.member("lastFailureAt", endpoint.lastFailureAt)
        writer.member("lastFailure", endpoint.lastFailure)
        writer.member("failingSince", endpoint.failingSince)
        writer.member("pausedUntil", endpoint.pausedUntil)
        writer.member("stoppedAt", endpoint.stoppedAt)
        writer.endObject()
    }

    static func write(_ letter: DeadWebhook, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("url", letter.url)
        writer.member("id", letter.entry.id.rawValue)
        writer.member("type", letter.entry.kind.rawValue)
        writer.member("time", letter.entry.time)
        writer.member("user", letter.entry.user.rawValue)
        writer.member("attempts", Int64(letter.attempts))
        writer.member("failure", letter.failure)
        writer.member("diedAt", letter.diedAt)
        writer.endObject()
    }
}
