import Accounts
import Coding
import HTTP

/// `/operator/users`: people, found and listed.
extension OperatorPages {
    private typealias Row = (user: User, lastSignIn: Timestamp?)

    func people(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let state = try parameter("state", visit).flatMap { User.State(rawValue: $0) }
        let group = try parameter("group", visit)
        let text = try parameter("q", visit)
        let order = try parameter("sort", visit).flatMap { UserOrder(rawValue: $0) } ?? .newest
        let counts = try await database.userCounts()
        let sort = order == .newest ? nil : order.rawValue
        func filter(_ name: String, _ value: User.State?, _ count: Int) -> PageValue {
            .link(
                "\(name) (\(count))",
                to: visit.link(
                    "/operator/users", [("state", value?.rawValue), ("group", group), ("sort", sort), ("q", text)]),
                isCurrent: value == state)
        }
        let all = filter(texts["all"], nil, counts.values.reduce(0, +))
        let list = OperatorList(
            tab: .users, columns: peopleColumns(visit), places: .users,
            search: .search(
                texts["findPerson"], button: texts["find"], to: visit.link("/operator/users"), text ?? "",
                hidden: (state.map { [("state", $0.rawValue)] } ?? []) + visit.language,
                // A search by name has an order of its own.
                choices: try await groupChoice(group, texts) + (text == nil ? [orderChoice(order, texts)] : [])),
            filters: [all] + User.State.allCases.map { filter(texts["states.\($0)"], $0, counts[$0] ?? 0) },
            ticks: OperatorTicks(action: .approve, button: "approveSelected") { row in
                row.user.state == .pending
                    ? (row.user.id.rawValue, PersonText.accountName(of: row.user) ?? row.user.id.rawValue) : nil
            },
            query: [("state", state?.rawValue), ("group", group), ("sort", sort), ("q", text)]
        ) { (place, limit) async throws(Failure) in
            let filter = UserFilter(state: state, group: group, order: order)
            let page = try await find(text, filter, after: place, limit: limit)
            let signIns = try await database.lastSignIns(of: Set(page.items.map(\.id)))
            return Page(items: page.items.map { ($0, signIns[$0.id]) }, next: page.next)
        }
        return try await list.answer(visit, self)
    }

    /// Empty if nobody is in a group.
    private func groupChoice(_ group: String?, _ texts: OperatorTexts) async throws(Failure) -> [PageValue] {
        var names = try await database.groupNames(limit: 200)
        if let group, !names.contains(where: group.isExactly) { names.append(group) }
        guard !names.isEmpty else { return [] }
        return [
            .choice("group", texts["group"], [("", texts["allGroups"])] + names.map { ($0, $0) }, chosen: group ?? "")
        ]
    }

    private func orderChoice(_ order: UserOrder, _ texts: OperatorTexts) -> PageValue {
        .choice(
            "sort", texts["sort"], UserOrder.allCases.map { ($0.rawValue, texts["orders.\($0)"]) },
            chosen: order.rawValue)
    }

    /// By id, external ID, Apple subject or address; otherwise by name.
    private func find(
        _ text: String?, _ filter: UserFilter, after cursor: UserCursor?, limit: Int
    ) async throws(Failure) -> UserPage {
        guard let text else { return try await database.users(filter, after: cursor, limit: limit) }
        var exact: [User?] = [try await database.user(externalID: text)]
        if let id = UserID(parsing: text) { exact.append(try await database.user(id)) }
        exact.append(try await database.user(team: team, subject: AppleSubject(text)))
        let found = exact.compactMap(\.self).filter(filter.accepts)
        guard found.isEmpty else { return UserPage(items: Array(found.prefix(1))) }
        var filter = filter
        if text.contains("@") { filter.email = text } else { filter.name = text }
        return try await database.users(filter, after: cursor, limit: limit)
    }

    private func peopleColumns(_ visit: OperatorVisit) -> [OperatorColumn<Row>] {
        [
            .init("name") { person($0.user, $0.user.id, visit) }, .init("email") { .text($0.user.email?.address) },
            .init("state") { Self.state($0.user.state, visit.texts) },
            .init("groups") { .text($0.user.groups.joined(separator: ", ")) },
            .init("since") { .moment($0.user.createdAt) }, .init("lastSignIn") { .moment($0.lastSignIn) },
            .init("id", isOnlyInFile: true) { .code($0.user.id.rawValue) },
        ]
    }

    /// A link to somebody's page; with a nil `user`, who is gone, only the id.
    func person(_ user: User?, _ id: UserID, _ visit: OperatorVisit) -> OperatorCell {
        guard let user else { return .code(id.rawValue) }
        return .link(
            PersonText.displayName(of: user) ?? visit.texts["noName"], visit.link("/operator/users/\(id.rawValue)"))
    }

    static func state(_ state: User.State, _ texts: OperatorTexts) -> OperatorCell {
        .tag(texts["states.\(state)"], isGood: state == .active)
    }
}

/// `/operator/sessions`: everyone's sessions, or those of the people found.
extension OperatorPages {
    /// How many of the people found have their sessions listed.
    private static let searched = 50

    func sessions(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let text = try parameter("q", visit)
        var found: UserPage?
        if let text { found = try await find(text, UserFilter(order: .newest), after: nil, limit: Self.searched) }
        let people = found?.items.map(\.id)
        let list = OperatorList(
            tab: .sessions,
            columns: [.init("name") { person($0.user, $0.session.user, visit) }]
                + Self.sessionColumns(visit) { (row: (session: Session, user: User?)) in row.session },
            places: .sessions,
            note: found?.next.map { _ in texts.text("firstPeople", ["count": String(people?.count ?? 0)]) },
            search: .search(
                texts["findPerson"], button: texts["find"], to: visit.link("/operator/sessions"), text ?? "",
                hidden: visit.language),
            ticks: OperatorTicks(action: .endSession, button: "endSelected") { row in
                (row.session.id.rawValue, Self.name(of: row, texts))
            },
            query: [("q", text)]
        ) { (place, limit) async throws(Failure) in
            try await database.sessionsOfPeople(of: people, after: place, limit: limit, at: visit.now)
        }
        return try await list.answer(visit, self)
    }

    /// Person and device.
    static func name(of row: (session: Session, user: User?), _ texts: OperatorTexts) -> String {
        let name = row.user.flatMap(PersonText.displayName) ?? row.session.user.rawValue
        return "\(name): \(DeviceDescription.text(of: row.session, strings: texts.strings))"
    }

    static func sessionColumns<Item>(
        _ visit: OperatorVisit, _ session: @escaping @Sendable (Item) -> Session
    ) -> [OperatorColumn<Item>] {
        [
            .init("device") { .text(DeviceDescription.text(of: session($0), strings: visit.texts.strings)) },
            .init("address") { .text(session($0).device.address) },
            .init("signedIn") { .moment(session($0).createdAt) },
            .init("lastActive") { .moment(session($0).lastSeenAt) },
            .init("id", isOnlyInFile: true) { .code(session($0).id.rawValue) },
            .change { visit.action(.endSession, session($0).id.rawValue) },
        ]
    }
}

/// `/operator/groups`: which groups there are, how many people are in each, and what it opens.
extension OperatorPages {
    private typealias Group = (name: String, people: Int, clients: [OpenIDClient])

    func groupList(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let clients = try await database.openIDClients()
        let people = try await database.groupCounts()
        let names = Set(people.keys).union(groups).union(clients.flatMap(\.groups))
        let found: [Group] = names.sorted().map { name in
            (name, people[name] ?? 0, clients.filter { $0.groups.contains(where: name.isExactly) })
        }
        let list = OperatorList(
            tab: .groups,
            columns: [
                .init("group") { .link($0.name, visit.link("/operator/users", [("group", $0.name)])) },
                .init("people") { .text(String($0.people)) },
                .init("opens") { group in
                    let page = groups.contains(where: group.name.isExactly)
                    return .several(
                        (page ? [.tag(visit.texts["thisPage"], isGood: true)] : [])
                            + group.clients.map { .link($0.name, visit.link("/operator/clients/\($0.id)")) })
                },
            ], places: .groups
        ) { place, limit in Page(of: found, after: place, limit: limit, by: \.name) }
        return try await list.answer(visit, self)
    }

    /// Groups that a form may name: those of people, of applications, and of this page.
    func groupSuggestions() async throws(Failure) -> [String] {
        let names = try await database.groupNames(limit: 200)
        let clients = try await database.openIDClients()
        return Set(names + groups + clients.flatMap(\.groups)).sorted()
    }
}
