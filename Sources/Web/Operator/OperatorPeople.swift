import Accounts
import HTTP
import HTTPTypes
import Storage

/// `/operator/users`: people, found and listed.
struct OperatorPeople: Sendable {
    let gate: OperatorGate
    let team: TeamID
    let database: Database

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let texts = visit.texts
        let state = try gate.parameter("state", visit).flatMap { User.State(rawValue: $0) }
        let group = try gate.parameter("group", visit)
        let text = try gate.parameter("q", visit)
        let counts = try await WebFailure.mapping(await database.userCounts())
        let query = [("state", state?.rawValue), ("group", group), ("q", text)]
        func filter(_ name: String, _ value: User.State?, _ count: Int) -> OperatorSection.Link {
            .init(
                text: "\(name) (\(count))",
                link: gate.link(
                    "/operator/users", [("state", value?.rawValue), ("group", group), ("q", text)], visit.locale),
                isCurrent: value == state)
        }
        let all = filter(texts["all"], nil, counts.values.reduce(0, +))
        let list = OperatorList(
            tab: .users, columns: Self.columns(texts),
            note: group.map { texts.text("inGroup", ["group": $0]) },
            search: .init(
                label: texts["findPerson"], button: texts["find"], link: gate.link("/operator/users", [], visit.locale),
                value: text ?? "", hidden: state.map { [("state", $0.rawValue)] } ?? []),
            filters: [all] + User.State.allCases.map { filter(texts["states.\($0)"], $0, counts[$0] ?? 0) }
                + (group == nil
                    ? []
                    : [.init(text: texts["allGroups"], link: gate.link("/operator/users", [], visit.locale))]),
            query: query
        ) { after, limit throws(WebFailure) in
            let cursor = after.flatMap(PageCursor.userCursor)
            let filter = UserFilter(state: state, group: group)
            let page = try await WebFailure.mapping(await find(text, filter, after: cursor, limit: limit))
            return OperatorList.Part(
                rows: page.items.map { row($0, visit) }, next: page.next.map { PageCursor.encode($0) })
        }
        return try await list.answer(visit, gate)
    }

    /// By id, external ID, Apple subject or address; otherwise by name.
    private func find(
        _ text: String?, _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(StoreError) -> UserPage {
        guard let text else { return try await database.users(filter, after: cursor, limit: limit) }
        var exact: [User?] = [try await database.user(externalID: text)]
        if let id = UserID(parsing: text) { exact.append(try await database.user(id)) }
        exact.append(try await database.user(team: team, subject: AppleSubject(text)))
        let found = exact.compactMap(\.self).filter(filter.accepts)
        guard found.isEmpty else { return UserPage(items: Array(found.prefix(1)), next: nil) }
        var filter = filter
        if text.contains("@") { filter.email = text } else { filter.name = text }
        return try await database.users(filter, after: cursor, limit: limit)
    }

    // MARK: Rows

    static func columns(_ texts: OperatorTexts) -> [String] {
        ["name", "email", "state", "groups", "since", "id"].map { texts["columns.\($0)"] }
    }

    private func row(_ user: User, _ visit: OperatorGate.Visit) -> [OperatorCell] {
        [
            person(user, visit), .text(user.email?.address), Self.state(user.state, visit.texts),
            .text(user.groups.joined(separator: ", ")), .moment(user.createdAt), .code(user.id.rawValue),
        ]
    }

    /// A link to somebody's page.
    func person(_ user: User, _ visit: OperatorGate.Visit) -> OperatorCell {
        .link(
            PersonText.displayName(of: user) ?? visit.texts["noName"],
            gate.link("/operator/users/\(user.id.rawValue)", [], visit.locale))
    }

    /// The same by id; a person who is gone has only that.
    func person(_ id: UserID, _ visit: OperatorGate.Visit) async throws(WebFailure) -> OperatorCell {
        guard let user = try await WebFailure.mapping(await database.user(id)) else { return .code(id.rawValue) }
        return person(user, visit)
    }

    static func state(_ state: User.State, _ texts: OperatorTexts) -> OperatorCell {
        .tag(texts["states.\(state)"], isGood: state == .active)
    }
}
