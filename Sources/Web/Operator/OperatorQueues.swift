import Accounts
import HTTP

/// `/operator/notifications` and `/operator/webhooks`: what Apple sent, and what is sent to applications.
extension OperatorPages {
    // MARK: Apple's notifications

    func notifications(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let outcome = try parameter("outcome", visit).flatMap { NotificationOutcome(recorded: $0) }
        func filter(_ name: String, _ value: NotificationOutcome?) -> PageValue {
            .link(
                name, to: visit.link("/operator/notifications", [("outcome", value?.rawValue)]),
                isCurrent: value == outcome)
        }
        let list = OperatorList(
            tab: .notifications, columns: notificationColumns(visit), places: .notifications,
            filters: [filter(texts["all"], nil)]
                + NotificationOutcome.recorded.map { filter(texts.word("outcomes", $0.rawValue), $0) },
            query: [("outcome", outcome?.rawValue)]
        ) { (place, limit) async throws(Failure) in
            let page = try await database.notifications(outcome: outcome, after: place, limit: limit)
            let known = try await database.users(team: team, subjects: Set(page.items.compactMap(\.subject)))
            return Page(items: page.items.map { ($0, $0.subject.flatMap { known[$0] }) }, next: page.next)
        }
        return try await list.answer(visit, self)
    }

    private func notificationColumns(
        _ visit: OperatorVisit
    ) -> [OperatorColumn<(item: RecordedNotification, user: User?)>] {
        [
            .init("received") { .moment($0.item.receivedAt) }, .init("type") { .code($0.item.type) },
            .init("outcome") { visit.texts.cell($0.item.outcome) },
            .init("person") { item, user in
                if let user { return person(user, user.id, visit) }
                return item.subject.map { .code($0.rawValue) } ?? .text(nil)
            },
            .init("id") { .code($0.item.id) },
            // One that took effect, or whose content is gone, cannot be applied again.
            .change { item, _ in
                item.outcome != .applied && item.payload != nil ? visit.action(.replay, item.id) : .text(nil)
            },
        ]
    }

    // MARK: Webhooks

    func webhooks(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let known = try await endpoints?.database.webhookEndpoints() ?? []
        let list = deadLetters(visit)
        guard try parameter("format", visit) == nil, try parameter("after", visit) == nil else {
            return try await list.answer(visit, self)
        }
        let start = try parameter("endpoints", visit).flatMap { Int($0) }.map { max(0, $0) } ?? 0
        let shown = known.dropFirst(start).prefix(50)
        let end = start + shown.count
        let next = visit.link(named: "nextPage", to: "/operator/webhooks", [("endpoints", String(end))])
        let summary = OperatorSection(
            heading: texts["endpoints"],
            table: OperatorTable(endpointColumns(visit), shown, texts, empty: "noEndpoints"),
            links: end < known.count ? [next] : [])
        var letters = try await list.section(texts["deadLetters"], after: nil, visit)
        if letters.table?.rows.isEmpty == false {
            letters.links.insert(visit.change(.retryAll), at: letters.links.count - 1)
        }
        return self.page(
            OperatorPage(tab: .webhooks, title: texts["tabs.webhooks"], sections: [summary, letters]), visit)
    }

    private func deadLetters(
        _ visit: OperatorVisit
    ) -> OperatorList<(letter: DeadWebhook, user: User?), DeadWebhookPlace> {
        OperatorList(
            tab: .webhooks,
            columns: [
                .init("time") { .moment($0.letter.diedAt) }, .init("type") { .code($0.letter.entry.kind.rawValue) },
                .init("endpoint") { .code(WebhookEndpoint.name(of: $0.letter.url)) },
                .init("person") { person($0.user, $0.letter.entry.user, visit) },
                .init("cause") { .text($0.letter.failure) },
                .init("id", isOnlyInFile: true) { .code($0.letter.entry.id.rawValue) },
                .change { visit.action(.retryEvent, $0.letter.entry.id.rawValue) },
            ], places: .deadWebhooks
        ) { (place, limit) async throws(Failure) in
            guard let endpoints else { return Page() }
            let page = try await endpoints.database.deadWebhooks(after: place, limit: limit)
            let known = try await database.users(Set(page.items.map(\.entry.user)))
            return Page(items: page.items.map { ($0, known[$0.entry.user]) }, next: page.next)
        }
    }

    private func endpointColumns(_ visit: OperatorVisit) -> [OperatorColumn<WebhookEndpoint>] {
        [
            .init("endpoint") { .code(WebhookEndpoint.name(of: $0.url)) },
            .init("state") {
                let state = $0.state(at: visit.now)
                return .tag(visit.texts.word("endpointStates", state.rawValue), isGood: state == .ok)
            },
            .init("waiting") { .text(String($0.backlog)) }, .init("givenUp") { .text(String($0.deadLetters)) },
            .init("lastSuccess") { .moment($0.lastSuccessAt) }, .init("lastFailure") { .moment($0.lastFailureAt) },
            .init("cause") { .text($0.lastFailure) },
            .change { endpoint in
                // A logout token is about a session: none can be sent to try.
                let isOurs = WebhookEndpoint.client(of: endpoint.url) == nil && endpoints?.target(endpoint.url) != nil
                let isStuck = endpoint.deadLetters > 0 || endpoint.state(at: visit.now) != .ok
                let actions: [OperatorAction] = (isOurs ? [.testEndpoint] : []) + (isStuck ? [.retryEndpoint] : [])
                return .several(actions.map { visit.action($0, WebhookEndpoint.name(of: endpoint.url)) })
            },
        ]
    }

    // MARK: Changes

    func queueTarget(of action: OperatorAction, _ target: String) async throws(Failure) -> Target? {
        switch action {
        case .replay:
            let known = try await database.notification(target)
            return known.map { .init(name: "\($0.type) (\($0.id))") }
        case .retryEvent: return EventID(parsing: target).map { .init(name: $0.rawValue) }
        case .retryAll: return .init(name: "")
        default: return try await endpoint(target).map { .init(name: WebhookEndpoint.name(of: $0)) }
        }
    }

    func performQueue(
        _ action: OperatorAction, _ target: String, _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorOutcome {
        switch action {
        case .replay: return try await replay(target, visit)
        case .testEndpoint: return try await test(target, visit)
        case .retryAll: return try await retry(.allDead, visit)
        case .retryEvent:
            guard let id = EventID(parsing: target) else { return .refused(problem: "gone") }
            return try await retry(.event(id), visit)
        default:
            guard let url = try await endpoint(target) else { return .refused(problem: "gone") }
            return try await retry(.endpoint(url: url), visit)
        }
    }

    private func replay(_ id: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        let replay = try await database.replayNotification(id, team: team, at: visit.now)
        switch replay {
        case .replayed(.applied), .replayed(.stale), .replayed(.duplicate), .appliedBefore:
            return .done(path: "/operator/notifications")
        case .unknown, .erased: return .refused(problem: "gone")
        case .replayed(let outcome):
            return .refused(problem: "noEffect", detail: visit.texts.word("outcomes", outcome.rawValue))
        }
    }

    private func retry(_ retry: WebhookRetry, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        let count = try await endpoints?.database.retryWebhooks(retry, at: visit.now) ?? 0
        if case .event = retry, count == 0 { return .refused(problem: "gone") }
        return .done(path: "/operator/webhooks")
    }

    private func test(_ target: String, _ visit: OperatorVisit) async throws(Failure) -> OperatorOutcome {
        guard let endpoints, let url = endpoints.target(target)?.url else { return .refused(problem: "gone") }
        let result: WebhookTestResult
        do {
            result = try await endpoints.test(url)
        } catch  where error.code == .tooManyRequests {
            return .refused(problem: "busy")
        }
        if case .delivered = result.verdict { return .done(path: "/operator/webhooks") }
        return .refused(problem: "testFailed", detail: result.failure)
    }

    /// The address of a known endpoint, which pages show without its query.
    private func endpoint(_ name: String) async throws(Failure) -> String? {
        let known = try await endpoints?.database.webhookEndpoints() ?? []
        let named = known.map(\.url).filter { WebhookEndpoint.isNamed($0, name) }
        return named.count == 1 ? named[0] : nil
    }
}
