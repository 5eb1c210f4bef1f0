internal import Accounts
import ArgumentParser
internal import Coding
internal import Sockets
internal import Storage
internal import Web

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Manage webhook deliveries.",
        subcommands: [List.self, Retry.self, Test.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List endpoints with their backlog, last attempts and dead letters.")

        @OptionGroup var options: CommandOptions
        @Flag(help: "List the dead letters instead, newest first.") var dead = false

        @Option(help: ArgumentHelp("Maximum number of rows, 1 to \(PageOptions.maximum).", valueName: "count"))
        var limit = 50

        @Flag(help: "All rows, ignoring --limit.") var all = false
        @Option(help: ArgumentHelp("Only this endpoint.", valueName: "url")) var endpoint: String?

        func validate() throws {
            guard (1...PageOptions.maximum).contains(limit) else {
                throw ValidationError("--limit must be 1 to \(PageOptions.maximum).")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            if dead {
                try show(
                    part(
                        of: try await context.database.deadWebhooks(after: nil, limit: Int(Int32.max)).items, at: \.url)
                )
            } else {
                try show(
                    part(of: try await context.database.webhookEndpoints(), at: \.url),
                    context.configuration.webhookKinds, at: context.now)
            }
        }

        /// Those of the endpoint, up to the limit; says so when there are more.
        private func part<Item>(of items: [Item], at url: KeyPath<Item, String>) -> [Item] {
            let wanted = items.filter { item in
                endpoint.map { WebhookEndpoint.isNamed(item[keyPath: url], $0) } ?? true
            }
            guard !all, wanted.count > limit else { return wanted }
            CommandOutput.remark("There are more rows, \(wanted.count) in all: add --all.")
            return Array(wanted.prefix(limit))
        }

        private func show(
            _ endpoints: [WebhookEndpoint], _ kinds: [String: Set<JournalEntry.Kind>], at now: Timestamp
        ) throws {
            if options.json {
                return try CommandOutput.jsonList(endpoints, WebhookEndpoint.fields(kinds, at: now, for: .operator))
            }
            let columns: [CommandColumn<WebhookEndpoint>] = [
                .init("ENDPOINT") { .text(WebhookEndpoint.name(of: $0.url)) },
                .init("STATE") { .text($0.state(at: now).rawValue) }, .init("WAITING") { .number($0.backlog) },
                .init("OLDEST", optional: true) { .time($0.oldest) }, .init("DEAD") { .number($0.deadLetters) },
                .init("LAST SUCCESS", optional: true) { .time($0.lastSuccessAt) },
                .init("LAST FAILURE", optional: true) { .time($0.lastFailureAt) },
                // Next to "ok", the reason of a past failure would look like a present one.
                .init("REASON", flexible: true) { .text($0.state(at: now) == .ok ? nil : $0.lastFailure) },
            ]
            try CommandOutput.table(
                columns, endpoints, empty: "No endpoints. Add some to webhooks.url and start the server.")
            if endpoints.contains(where: { $0.stoppedAt != nil }) {
                CommandOutput.hint(
                    "A stopped endpoint answered 410. Resume it with bramley webhooks retry --endpoint URL.")
            }
        }

        private func show(_ letters: [DeadWebhook]) throws {
            if options.json { return try CommandOutput.jsonList(letters, DeadWebhook.fields(for: .operator)) }
            let columns: [CommandColumn<DeadWebhook>] = [
                .init("EVENT") { .code($0.entry.id.rawValue) }, .init("TYPE") { .text($0.entry.kind.rawValue) },
                .init("USER", optional: true) { .code($0.entry.user.rawValue) },
                .init("ENDPOINT", optional: true) { .text(WebhookEndpoint.name(of: $0.url)) },
                .init("ATTEMPTS", optional: true) { .number($0.attempts) },
                .init("GIVEN UP", optional: true) { .time($0.diedAt) },
                .init("REASON", flexible: true) { .text($0.failure) },
            ]
            try CommandOutput.table(columns, letters, empty: "No dead letters.")
        }
    }

    struct Retry: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retry waiting and failed events now, with the same ids and a new set of attempts.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "One event, evt_…, for each endpoint that has not accepted it.") var id: String?
        @Flag(help: "All dead letters.") var allDead = false

        @Option(
            help: ArgumentHelp(
                "All waiting events and dead letters of this endpoint. Resumes a stopped endpoint.", valueName: "url"))
        var endpoint: String?

        func validate() throws {
            guard [id != nil, allDead, endpoint != nil].count(where: { $0 }) == 1 else {
                throw ValidationError("Pass exactly one of: an event's id, --all-dead, --endpoint URL.")
            }
            guard id.map({ EventID(parsing: $0) != nil }) ?? true else {
                throw ValidationError(
                    "Pass the event's id, evt_ and 26 characters, as shown by bramley webhooks list --dead.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let database = context.database
            let endpoints = try await database.webhookEndpoints()
            let retries: [WebhookRetry]
            if let id {
                retries = [.event(EventID(unchecked: id))]
            } else if let endpoint {
                // As configured, or as displayed.
                let named = endpoints.map(\.url).filter { WebhookEndpoint.isNamed($0, endpoint) }
                guard !named.isEmpty else {
                    let shown = WebhookEndpoint.name(of: endpoint)
                    throw CommandFailure("There is no endpoint \(shown). See bramley webhooks list.")
                }
                retries = named.map { .endpoint(url: $0) }
            } else {
                retries = [.allDead]
            }
            var count = 0
            for retry in retries { count += try await database.retryWebhooks(retry, at: context.now) }
            if let id, count == 0 {
                throw CommandFailure("\(id) is not a dead letter and is not waiting for any endpoint.")
            }
            try options.show(
                count == 1 ? "1 delivery will be retried" : "\(count) deliveries will be retried",
                [("retried", .number(count))])
        }
    }

    struct Test: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a test event to an endpoint and show the result.",
            discussion: """
                The event has the type webhook.test and a normal signature. It is neither journaled nor retried. The \
                exit code is 1 if the endpoint did not accept it.
                """)

        @OptionGroup var options: CommandOptions
        @Argument(help: ArgumentHelp("A URL from webhooks.url.", valueName: "url")) var url: String

        func run(on context: OperatorDatabase) async throws {
            let whole = try ConfigurationLoader.load(options.input).configuration
            let result = try await Self.test(url, whole, context)
            let shown = WebhookEndpoint.name(of: url)
            if options.json {
                try CommandOutput.json { $0.write(result, WebhookTestResult.fields(of: url, for: .operator)) }
            } else if result.failure == nil {
                try CommandOutput.line("\(shown) accepted \(result.id) after \(result.milliseconds) ms")
            }
            if let failure = result.failure {
                throw CommandFailure("\(shown) did not accept \(result.id): \(failure).")
            }
        }

        /// From this process, on its own loop.
        private static func test(
            _ url: String, _ configuration: Configuration, _ context: OperatorDatabase
        ) async throws -> WebhookTestResult {
            let unknown = CommandFailure(
                "There is no endpoint \(WebhookEndpoint.name(of: url)). See bramley webhooks list.")
            guard !configuration.webhooks.isEmpty else { throw unknown }
            return try await EventLoopGroup.withOneLoop { group in
                let endpoints = WebhookEndpoints(
                    targets: try configuration.webhooks.targets(logger: context.runtime.logger).0,
                    database: context.database,
                    sender: try WebhookTransport(configuration, group, clock: context.clock, isEnding: { false }),
                    clock: context.clock, random: context.random)
                do throws(Failure) {
                    return try await endpoints.test(url)
                } catch {
                    if error.code == .webhookNotFound { throw unknown }
                    throw error
                }
            }
        }
    }
}
