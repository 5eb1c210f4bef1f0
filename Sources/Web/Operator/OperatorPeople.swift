import Accounts
import HTTP

/// `/operator/users`: people, found and listed.
extension OperatorPages {
    func people(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let state = try parameter("state", visit).flatMap { User.State(rawValue: $0) }
        let group = try parameter("group", visit)
        let text = try parameter("q", visit)
        let counts = try await database.userCounts()
        func filter(_ name: String, _ value: User.State?, _ count: Int) -> PageValue {
            .link(
                "\(name) (\(count))",
                to: visit.link("/operator/users", [("state", value?.rawValue), ("group", group), ("q", text)]),
                isCurrent: value == state)
        }
        let all = filter(texts["all"], nil, counts.values.reduce(0, +))
        let list = OperatorList(
            tab: .users, columns: peopleColumns(visit), places: .users,
            note: group.map { texts.text("inGroup", ["group": $0]) },
            search: .search(
                texts["findPerson"], button: texts["find"], to: visit.link("/operator/users"), text ?? "",
                hidden: state.map { [("state", $0.rawValue)] } ?? []),
            filters: [all] + User.State.allCases.map { filter(texts["states.\($0)"], $0, counts[$0] ?? 0) }
                + (group == nil ? [] : [visit.link(named: "allGroups", to: "/operator/users")]),
            query: [("state", state?.rawValue), ("group", group), ("q", text)]
        ) { (place, limit) async throws(Failure) in
            try await find(text, UserFilter(state: state, group: group), after: place, limit: limit)
        }
        return try await list.answer(visit, self)
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

    private func peopleColumns(_ visit: OperatorVisit) -> [OperatorColumn<User>] {
        [
            .init("name") { person($0, $0.id, visit) }, .init("email") { .text($0.email?.address) },
            .init("state") { Self.state($0.state, visit.texts) },
            .init("groups") { .text($0.groups.joined(separator: ", ")) }, .init("since") { .moment($0.createdAt) },
            .init("id") { .code($0.id.rawValue) },
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

/// `/operator/sessions`: everybody who is signed in, or where one person is.
extension OperatorPages {
    func sessions(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let texts = visit.texts
        let text = try parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        let list = OperatorList(
            tab: .sessions,
            columns: [.init("name") { person($0.user, $0.session.user, visit) }]
                + Self.sessionColumns(visit) { (row: (session: Session, user: User?)) in row.session },
            places: .sessions,
            search: .search(texts["auditOf"], button: texts["find"], to: visit.link("/operator/sessions"), text ?? ""),
            query: [("q", text)]
        ) { (place, limit) async throws(Failure) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return Page() }
            return try await database.sessionsOfPeople(of: user, after: place, limit: limit, at: visit.now)
        }
        return try await list.answer(visit, self)
    }

    static func sessionColumns<Item>(
        _ visit: OperatorVisit, _ session: @escaping @Sendable (Item) -> Session
    ) -> [OperatorColumn<Item>] {
        [
            .init("device") { .text(DeviceDescription.text(of: session($0), strings: visit.texts.strings)) },
            .init("address") { .text(session($0).device.address) },
            .init("signedIn") { .moment(session($0).createdAt) },
            .init("lastActive") { .moment(session($0).lastSeenAt) }, .init("id") { .code(session($0).id.rawValue) },
            .change { visit.action(.endSession, session($0).id.rawValue) },
        ]
    }
}
