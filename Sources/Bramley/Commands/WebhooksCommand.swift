internal import Accounts
import ArgumentParser
internal import Coding
internal import Logging
internal import Sockets
internal import Storage
internal import Web

/// `bramley webhooks`
struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Manage webhook deliveries.",
        subcommands: [WebhooksListCommand.self, WebhooksRetryCommand.self, WebhooksTestCommand.self])

}

/// `bramley webhooks list`
struct WebhooksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List endpoints with their backlog, last attempts and dead letters.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "List the dead letters instead, newest first.")
    var dead = false

    @Option(help: ArgumentHelp("Maximum number of rows, 1 to \(PageOptions.maximum).", valueName: "count"))
    var limit = 50

    @Flag(help: "All rows, ignoring --limit.")
    var all = false

    @Option(help: ArgumentHelp("Only this endpoint.", valueName: "url"))
    var endpoint: String?

    func validate() throws {
        guard (1...PageOptions.maximum).contains(limit) else {
            throw ValidationError("--limit is 1 to \(PageOptions.maximum).")
        }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            if dead {
                try show(part(of: try await place.database.deadWebhooks(after: nil, limit: .max), at: \.url))
            } else {
                try show(
                    part(of: try await place.database.webhookEndpoints(), at: \.url),
                    place.configuration.webhookKinds, at: place.now)
            }
        }
    }

    /// Those of the endpoint, up to the limit; says so when there are more.
    private func part<Item>(of items: [Item], at url: KeyPath<Item, String>) -> [Item] {
        let wanted = items.filter { item in
            endpoint.map { WebhookEndpoint.isNamed(item[keyPath: url], $0) } ?? true
        }
        guard !all, wanted.count > limit else { return wanted }
        CommandOutput.remark("There are more: \(wanted.count) in all; add --all.")
        return Array(wanted.prefix(limit))
    }

    private func show(
        _ endpoints: [WebhookEndpoint], _ kinds: [String: Set<JournalEntry.Kind>], at now: Timestamp
    ) throws {
        if output.json {
            try CommandOutput.jsonList(endpoints, next: nil) { endpoint, writer in
                WebhookDocument.write(
                    endpoint, kinds: kinds[endpoint.url], at: now, for: .operator, to: &writer)
            }
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
                        WebhookEndpoint.name(of: endpoint.url), endpoint.state(at: now).rawValue,
                        String(endpoint.backlog),
                        endpoint.oldest?.shown(style), String(endpoint.deadLetters),
                        endpoint.lastSuccessAt?.shown(style), endpoint.lastFailureAt?.shown(style),
                        // Next to "ok", the reason of a past failure would look like a present one.
                        endpoint.state(at: now) == .ok ? nil : endpoint.lastFailure,
                    ]
                }))
        if endpoints.isEmpty { CommandOutput.hint("No endpoints: name some in webhooks.url and start the server.") }
        if endpoints.contains(where: { $0.stoppedAt != nil }) {
            CommandOutput.hint(
                "A stopped endpoint answered 410. Resume it with bramley webhooks retry --endpoint URL.")
        }
    }

    private func show(_ letters: [DeadWebhook]) throws {
        if output.json {
            try CommandOutput.jsonList(letters, next: nil) { WebhookDocument.write($0, for: .operator, to: &$1) }
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
                        letter.entry.id.rawValue, letter.entry.kind.rawValue, letter.entry.user.rawValue,
                        WebhookEndpoint.name(of: letter.url),
                        String(letter.attempts), letter.diedAt.shown(style), letter.failure,
                    ]
                }))
        if letters.isEmpty { CommandOutput.hint("No dead letters.") }
    }
}

/// `bramley webhooks retry`
struct WebhooksRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry waiting and failed events now, with the same ids and a full set of attempts.")

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "One event, evt_…, at each endpoint that has not accepted it.")
    var id: String?

    @Flag(help: "Every dead letter.")
    var allDead = false

    @Option(
        help: ArgumentHelp(
            "All waiting events and dead letters of this endpoint. Resumes a stopped endpoint.", valueName: "url"))
    var endpoint: String?

    func validate() throws {
        guard [id != nil, allDead, endpoint != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Name one of: an event's id, --all-dead, --endpoint URL.")
        }
        guard id.map({ EventID(parsing: $0) != nil }) ?? true else {
            throw ValidationError("Name the event by its id, evt_ and 26 characters, as webhooks list --dead shows it.")
        }
    }

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let database = place.database
            let endpoints = try await database.webhookEndpoints()
            let retries: [WebhookRetry]
            if let id {
                retries = [.event(EventID(unchecked: id))]
            } else if let endpoint {
                // As configured, or as displayed.
                let named = endpoints.map(\.url).filter { WebhookEndpoint.isNamed($0, endpoint) }
                guard !named.isEmpty else {
                    let shown = WebhookEndpoint.name(of: endpoint)
                    throw CommandFailure("There is no endpoint \(shown). bramley webhooks list shows them.")
                }
                retries = named.map { .endpoint(url: $0) }
            } else {
                retries = [.allDead]
            }
            var count = 0
            for retry in retries { count += try await database.retryWebhooks(retry, at: place.now) }
            if let id, count == 0 { throw CommandFailure("\(id) is not a dead letter, and no endpoint waits for it.") }
            if output.json {
                try CommandOutput.json { writer in
                    writer.beginObject()
                    writer.member("retried", Int64(count))
                    writer.endObject()
                }
            } else {
                try CommandOutput.line(
                    count == 1 ? "1 delivery will be retried" : "\(count) deliveries will be retried")
            }
        }
    }
}

/// `bramley webhooks test`
struct WebhooksTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a test event to an endpoint and show the answer.",
        discussion: """
            The event has the type webhook.test and a normal signature. It is not journaled and not retried. The exit code is 1 \
            if the endpoint did not accept it.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("An address of webhooks.url.", valueName: "url"))
    var url: String

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let whole = try ConfigurationLoader.load(options.input).configuration
            let result = try await Self.test(url, whole, place)
            try await place.database.record(
                .webhookTested, user: nil, object: WebhookRequest.origin(of: url), at: place.now)
            let shown = WebhookEndpoint.name(of: url)
            if output.json {
                try CommandOutput.json {
                    WebhookDocument.write(result, to: url, for: .operator, to: &$0)
                }
            } else if result.failure == nil {
                try CommandOutput.line("\(shown) took \(result.id) after \(result.milliseconds) ms")
            }
            if let failure = result.failure {
                throw CommandFailure("\(shown) did not take \(result.id): \(failure).")
            }
        }
    }

    /// From this process, on its own loop.
    private static func test(
        _ url: String, _ configuration: Configuration, _ place: OperatorDatabase
    ) async throws -> WebhookTestResult {
        let unknown = CommandFailure(
            "No such endpoint: \(WebhookEndpoint.name(of: url)). See bramley webhooks list.")
        guard let settings = configuration.webhooks else { throw unknown }
        let group = try EventLoopGroup(count: 1)
        let endpoints = WebhookEndpoints(
            targets: try settings.targets(logger: Logger(label: "bramley", factory: { _ in SwiftLogNoOpLogHandler() }))
                .0,
            database: place.database,
            sender: try WebhookTransport(configuration, group, clock: place.clock, isEnding: { false }),
            clock: place.clock, random: place.random)
        async let running: Void = group.run { loop in await loop.runRoot { $0.close() } }
        let result: WebhookTestResult?
        do {
            result = try await endpoints.test(url)
        } catch {
            result = nil
        }
        group.beginDrain()
        group.abort()
        try await running
        guard let result else { throw unknown }
        return result
    }
}
