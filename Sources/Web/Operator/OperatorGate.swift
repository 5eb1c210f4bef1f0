import Accounts
import Coding
import HTTP
import HTTPTypes

/// Admits operators: active people in a group of `operator.groups`. Whatever they read or write is recorded.
extension OperatorPages {
    func admitting(_ handle: @escaping @Sendable (OperatorVisit) async throws(Failure) -> ServerResponse)
        -> RouteEntry.PlainHandler
    {
        { request throws(Failure) in
            let locale = responses.locale(of: request)
            guard let signedIn = try await routes.active(request) else {
                return routes.login(returningTo: here(request), locale: locale)
            }
            guard signedIn.user.isOperator(groups) else {
                let target = routes.targets.validate(configuration.publicURL.path(here(request)))
                throw .notAllowed(rule: nil, target: target, person: signedIn.user)
            }
            // Only operators are counted: strangers at the same address must not use up the limit.
            try limit.pass(request)
            let visit = OperatorVisit(
                user: signedIn.user, session: signedIn.session, request: request, locale: locale,
                texts: OperatorTexts(strings: responses.pages.strings(locale)), now: routes.clock.now(),
                publicURL: configuration.publicURL)
            let network = ClientDetail.network.text(of: request.client)
            let actor = AuditActor.operatorPage(signedIn.user.id, network: network)
            return try await request.answered(for: actor) { () throws(Failure) in
                do throws(Failure) {
                    let response = try await handle(visit)
                    try await recordView(visit, response)
                    return response
                } catch  where error.code == .notFound {
                    return gone(visit)
                }
            }
        }
    }

    /// For what is gone, such as somebody who was deleted: the other pages stay in reach.
    private func gone(_ visit: OperatorVisit) -> ServerResponse {
        let parts = (configuration.publicURL.pathBelow(visit.request.path) ?? "").split(separator: "/")
        let tab = parts.dropFirst().first.flatMap { OperatorPage.Tab(rawValue: String($0)) } ?? .today
        let warning = OperatorSection(heading: visit.texts["problems.gone"], isWarning: true)
        let page = OperatorPage(tab: tab, title: visit.texts["tabs.\(tab)"], sections: [warning])
        return self.page(page, visit, status: .notFound)
    }

    /// Records what an operator is about to see, about a person or a list. What could not be recorded is not shown.
    private func recordView(_ visit: OperatorVisit, _ response: ServerResponse) async throws(Failure) {
        guard [.ok, .conflict].contains(response.status) else { return }
        let path = configuration.publicURL.pathBelow(visit.request.path) ?? ""
        let parts = path.split(separator: "/").dropFirst().map(String.init)
        var object: String?
        var user = parts.count > 1 && parts[0] == "users" ? UserID(parsing: parts[1]) : nil
        if parts == ["change"] {
            let target = visit.request.method == .post ? try form(visit, ["target"])["target"] : try self.target(visit)
            let people = try await people(in: target ?? "", visit)
            // Without a person, the page is an empty form.
            guard let first = people.first else { return }
            if people.count == 1 { user = first } else { object = "list" }
        } else if user == nil {
            // Recorded as the list of people.
            object = parts.first.map { $0 == "users" ? "list" : $0 } ?? "today"
        }
        try await database.record(
            parts.last == "export" ? .userExported : .userViewed, user: user, object: object, at: visit.now)
    }

    /// The requested path below `publicURL`, with its query.
    private func here(_ request: ServerRequest) -> String {
        let path = configuration.publicURL.pathBelow(request.path) ?? "/operator"
        return request.query.map { "\(path)?\($0)" } ?? path
    }

    // MARK: Answers

    func page(_ page: OperatorPage, _ visit: OperatorVisit, status: HTTPResponse.Status = .ok) -> ServerResponse {
        var notice: String?
        if SameOrigin.isOwnOrTyped(visit.request.fields), case .one(let code) = Query(visit.request).value("done"),
            let action = OperatorAction(rawValue: code)
        {
            var refused: Int?
            if case .one(let text) = Query(visit.request).value("refused") { refused = Int(text) }
            notice = visit.texts.text(
                refused == nil ? "done" : "doneExcept",
                ["action": visit.texts["actions.\(action)"], "count": refused.map(String.init) ?? ""])
        }
        let values = page.values(
            notice: notice, person: PersonText.displayName(of: visit.user) ?? visit.user.id.rawValue,
            texts: visit.texts, link: { visit.link($0) })
        return responses.scripted("operator", locale: visit.locale, status: status, values)
    }

    /// A file that the browser saves. Call `requireOwn` first.
    func file(
        _ content: some PieceSource, type: String, name: String, route: String
    ) async throws(Failure) -> ServerResponse {
        var response = responses.empty(.ok)
        response.fields[.contentType] = type
        response.fields[.contentDisposition] = "attachment; filename=\"\(name)\""
        response.body = try await responses.body(of: content, route: route)
        return response
    }

    /// Refuses requests that another site began: a link there brings the cookie, too.
    func requireOwn(_ visit: OperatorVisit) throws(Failure) {
        guard SameOrigin.isOwnOrTyped(visit.request.fields) else { throw Failure(.crossSite) }
    }

    /// - Returns: the parameter; nil when absent or empty.
    func parameter(_ name: String, _ visit: OperatorVisit) throws(Failure) -> String? {
        guard let text = try query(visit).given(name) else { return nil }
        return try storable(text, of: name)
    }

    /// The target, or the ticked rows.
    func target(_ visit: OperatorVisit) throws(Failure) -> String? {
        let given = try query(visit).values("target").map { text throws(Failure) in try storable(text, of: "target") }
        return given.isEmpty ? nil : given.joined(separator: OperatorAction.separator)
    }

    /// Enough for a page of ticked rows.
    private func query(_ visit: OperatorVisit) -> Query { Query(visit.request, most: 64) }

    /// - Returns: what the form of a page of ours sent.
    func form(_ visit: OperatorVisit, _ names: [String]) throws(Failure) -> [String: String] {
        let form = try routes.form(visit.request, names)
        for (name, text) in form { _ = try storable(text, of: name) }
        return form
    }

    /// PostgreSQL has no texts with U+0000.
    private func storable(_ text: String, of name: String) throws(Failure) -> String {
        guard !text.utf8.contains(0) else { throw .badRequest("\(name) contains U+0000") }
        return text
    }
}

/// One request of an operator.
struct OperatorVisit: Sendable {
    let user: User
    let session: Session
    let request: ServerRequest
    let locale: PageLocale
    let texts: OperatorTexts
    let now: Timestamp
    let publicURL: PublicURL

    /// Whether the sign-in is recent enough to change something.
    var isFresh: Bool { session.isRecent(at: now) }

    /// A link to one of our pages, with a query of what is not nil.
    func link(_ path: String, _ query: [(String, String?)] = []) -> String {
        let parameters = query.compactMap { name, value in
            value.map { "\(name)=\(PercentEncoding.encodeComponent($0))" }
        }
        let mark = path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        let text = parameters.isEmpty ? path : path + mark + parameters.joined(separator: "&")
        return locale.link(publicURL.path(text))
    }

    /// The chosen language, for a form whose address the browser makes.
    var language: [(name: String, value: String)] { locale.chosen.map { [("ui_locales", $0)] } ?? [] }

    /// This page, for the way back from a change: its path below `publicURL` with its query, if that is short.
    var here: String {
        let path = publicURL.pathBelow(request.path) ?? "/operator"
        let query = (request.query ?? "").split(separator: "&").filter {
            !["ui_locales=", "done=", "refused="].contains(where: $0.hasPrefix)
        }
        let text = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        return OperatorAction.back(text) ?? path
    }

    /// The same with one of our texts.
    func link(named text: String, to path: String, _ query: [(String, String?)] = []) -> PageValue {
        .link(texts[text], to: link(path, query))
    }

    /// A secret that was just made, which no page shows again.
    func shownOnce(
        _ name: String, _ facts: [(column: String, cell: OperatorCell)], back tab: OperatorPage.Tab, to path: String
    ) -> OperatorOutcome {
        .shown(
            OperatorSection(
                heading: name, note: texts["shownOnce"], facts: facts.map { texts.fact($0.column, $0.cell) },
                links: [link(named: "tabs.\(tab)", to: path)]))
    }

    /// A link to the page that asks for a change.
    func change(_ action: OperatorAction, _ target: String? = nil, isDanger: Bool = false) -> PageValue {
        .link(texts["actions.\(action)"], to: asking(action, target), isDanger: isDanger)
    }

    /// The same in a table.
    func action(_ action: OperatorAction, _ target: String) -> OperatorCell {
        .action(texts["actions.\(action)"], asking(action, target))
    }

    private func asking(_ action: OperatorAction, _ target: String?) -> String {
        link("/operator/change", [("action", action.rawValue), ("target", target), ("back", here)])
    }
}
