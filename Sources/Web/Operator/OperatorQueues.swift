import Accounts
import Coding
import HTTP

/// `/operator/notifications` and `/operator/webhooks`: what Apple said, and what applications are told.
struct OperatorQueues: Sendable {
    let people: OperatorPeople
    let webhooks: WebhookEndpoints?
    private var gate: OperatorGate { people.gate }

    // MARK: Apple's notifications

    func notifications(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        let outcome = try gate.parameter("outcome", visit).flatMap { NotificationOutcome(rawValue: $0) }
        func filter(_ name: String, _ value: NotificationOutcome?) -> OperatorSection.Link {
            .init(
                text: name, link: gate.link("/operator/notifications", [("outcome", value?.rawValue)], visit.locale),
                isCurrent: value == outcome)
        }
        let list = OperatorList(
            tab: .notifications,
            columns: ["received", "type", "outcome", "person", "id", "change"].map { texts["columns.\($0)"] },
            hasActions: true,
            filters: [filter(texts["all"], nil)]
                + NotificationOutcome.allCases.map { filter(texts.word("outcomes", $0.rawValue), $0) },
            query: [("outcome", outcome?.rawValue)]
        ) { after, limit throws(WebFailure) in
            let cursor = after.flatMap(OperatorPlace.init).map { NotificationCursor(receivedAt: $0.time, id: $0.id) }
            let page = try await WebFailure.mapping(
                await people.database.notifications(outcome: outcome, after: cursor, limit: limit))
            var rows: [[OperatorCell]] = []
            for item in page.items { rows.append(try await row(item, visit)) }
            return OperatorList.Part(
                rows: rows, next: page.next.map { OperatorPlace(time: $0.receivedAt, id: $0.id).text })
        }
        return try await list.answer(visit, gate)
    }

    private func row(
        _ item: RecordedNotification, _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> [OperatorCell] {
        var person = OperatorCell.text(nil)
        if let subject = item.subject {
            person = .code(subject.rawValue)
            let user = try await WebFailure.mapping(await people.database.user(team: people.team, subject: subject))
            if let user { person = people.person(user, visit) }
        }
        // One that took effect, or whose content is gone, cannot be applied again.
        let isReplayable = item.outcome != .applied && item.payload != nil
        return [
            .moment(item.receivedAt), .code(item.type),
            .tag(visit.texts.word("outcomes", item.outcome.rawValue), isGood: item.outcome == .applied), person,
            .code(item.id), isReplayable ? action(.replay, item.id, visit) : .text(nil),
        ]
    }

    // MARK: Webhooks

    func webhooks(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        let endpoints = try await WebFailure.mapping(await webhooks?.database.webhookEndpoints() ?? [])
        let start = try gate.parameter("endpoints", visit).flatMap { Int($0) }.map { max(0, $0) } ?? 0
        let shown = endpoints.dropFirst(start).prefix(OperatorList.pageSize)
        let end = start + shown.count
        let summary = OperatorSection(
            heading: texts["endpoints"],
            table: OperatorTable(
                columns: ["endpoint", "state", "waiting", "givenUp", "lastSuccess", "lastFailure", "change"].map {
                    texts["columns.\($0)"]
                }, rows: shown.map { row($0, visit) }, empty: texts["noEndpoints"]),
            links: end < endpoints.count
                ? [
                    .init(
                        text: texts["nextPage"],
                        link: gate.link("/operator/webhooks", [("endpoints", String(end))], visit.locale))
                ] : [])
        guard try gate.parameter("format", visit) == nil, try gate.parameter("after", visit) == nil else {
            return try await deadLetters(visit).answer(visit, gate)
        }
        let list = deadLetters(visit)
        let part = try await list.read(nil, OperatorList.pageSize)
        let links =
            part.next.map {
                [
                    OperatorSection.Link(
                        text: texts["nextPage"], link: gate.link("/operator/webhooks", [("after", $0)], visit.locale))
                ]
            } ?? []
        let letters = OperatorSection(
            heading: texts["deadLetters"],
            table: OperatorTable(columns: list.columns, rows: part.rows, empty: texts["nothing"]),
            links: part.rows.isEmpty
                ? []
                : links + [
                    .init(
                        text: texts["actions.retryAll"],
                        link: gate.link(
                            "/operator/change", [("action", OperatorAction.retryAll.rawValue)], visit.locale)),
                    .init(text: texts["csv"], link: gate.link("/operator/webhooks", [("format", "csv")], visit.locale)),
                ])
        return gate.page(
            OperatorPage(tab: .webhooks, title: texts["tabs.webhooks"], sections: [summary, letters]), visit)
    }

    private func deadLetters(_ visit: OperatorGate.Visit) -> OperatorList {
        OperatorList(
            tab: .webhooks,
            columns: ["time", "type", "endpoint", "person", "cause", "id", "change"].map {
                visit.texts["columns.\($0)"]
            }, hasActions: true
        ) { after, limit throws(WebFailure) in
            let place = after.flatMap(PageCursor.deadWebhook)
            let found = try await WebFailure.mapping(
                await webhooks?.database.deadWebhooks(after: place, limit: limit + 1) ?? [])
            var rows: [[OperatorCell]] = []
            for letter in found.prefix(limit) {
                rows.append([
                    .moment(letter.diedAt), .code(letter.entry.kind.rawValue),
                    .code(WebhookEndpoint.name(of: letter.url)), try await people.person(letter.entry.user, visit),
                    .text(letter.failure), .code(letter.entry.id.rawValue),
                    action(.retryEvent, letter.entry.id.rawValue, visit),
                ])
            }
            let last = found.count > limit ? found.prefix(limit).last : nil
            return OperatorList.Part(rows: rows, next: last.map { PageCursor.encode($0.place) })
        }
    }

    private func row(_ endpoint: WebhookEndpoint, _ visit: OperatorGate.Visit) -> [OperatorCell] {
        let state = endpoint.state(at: visit.now)
        let isOurs = WebhookEndpoint.client(of: endpoint.url) == nil && webhooks?.target(endpoint.url) != nil
        let name = WebhookEndpoint.name(of: endpoint.url)
        return [
            .code(name), .tag(visit.texts.word("endpointStates", state.rawValue), isGood: state == .ok),
            .text(String(endpoint.backlog)), .text(String(endpoint.deadLetters)), .moment(endpoint.lastSuccessAt),
            .text(endpoint.lastFailure),
            // A logout token is about a session: none can be sent to try.
            isOurs && state == .ok ? action(.testEndpoint, name, visit) : action(.retryEndpoint, name, visit),
        ]
    }

    private func action(_ action: OperatorAction, _ target: String, _ visit: OperatorGate.Visit) -> OperatorCell {
        .action(
            visit.texts["actions.\(action)"],
            gate.link("/operator/change", [("action", action.rawValue), ("target", target)], visit.locale))
    }

    // MARK: Changes

    func target(of action: OperatorAction, _ target: String) async throws(WebFailure) -> OperatorChanges.Target? {
        switch action {
        case .replay:
            let known = try await WebFailure.mapping(await people.database.notification(target))
            return known.map { .init(name: "\($0.type) (\($0.id))") }
        case .retryEvent: return EventID(parsing: target).map { .init(name: $0.rawValue) }
        case .retryAll: return .init(name: "")
        default: return try await endpoint(target).map { .init(name: WebhookEndpoint.name(of: $0)) }
        }
    }

    func perform(
        _ action: OperatorAction, _ target: String, _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorOutcome {
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

    private func replay(_ id: String, _ visit: OperatorGate.Visit) async throws(WebFailure) -> OperatorOutcome {
        let replay = try await WebFailure.mapping(
            await people.database.replayNotification(id, team: people.team, at: visit.now))
        switch replay {
        case .replayed(.applied), .replayed(.stale), .replayed(.duplicate), .appliedBefore:
            return .done(path: "/operator/notifications")
        case .unknown, .erased: return .refused(problem: "gone")
        case .replayed(let outcome):
            return .refused(problem: "noEffect", detail: visit.texts.word("outcomes", outcome.rawValue))
        }
    }

    private func retry(_ retry: WebhookRetry, _ visit: OperatorGate.Visit) async throws(WebFailure) -> OperatorOutcome {
        let count = try await WebFailure.mapping(
            await webhooks?.database.retryWebhooks(retry, at: visit.now) ?? 0)
        if case .event = retry, count == 0 { return .refused(problem: "gone") }
        return .done(path: "/operator/webhooks")
    }

    private func test(_ target: String, _ visit: OperatorGate.Visit) async throws(WebFailure) -> OperatorOutcome {
        guard let webhooks, let url = webhooks.target(target)?.url else { return .refused(problem: "gone") }
        let result: WebhookTestResult
        do throws(WebhookEndpoints.TestFailure) {
            result = try await webhooks.test(url)
        } catch {
            return .refused(problem: error == .busy ? "busy" : "gone")
        }
        try await WebFailure.mapping(
            await people.database.record(
                .webhookTested, user: nil, object: WebhookRequest.origin(of: url), at: visit.now))
        if case .delivered = result.verdict { return .done(path: "/operator/webhooks") }
        return .refused(problem: "testFailed", detail: result.status.map { "\($0)" })
    }

    /// The address of a known endpoint, which pages show without its query.
    private func endpoint(_ name: String) async throws(WebFailure) -> String? {
        let known = try await WebFailure.mapping(await webhooks?.database.webhookEndpoints() ?? [])
        let named = known.map(\.url).filter { WebhookEndpoint.isNamed($0, name) }
        return named.count == 1 ? named[0] : nil
    }
}
