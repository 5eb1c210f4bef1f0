import Accounts

/// The operator's page with everything that its template can show, about somebody of any name.
extension PageSamples {
    static func operatorPages(of users: [(name: String, user: User)], strings: Strings) -> [PageSample] {
        users.map { name, user in
            PageSample(template: "operator", name: "operator (\(name))", values: values(user, strings))
        }
    }

    private static func values(_ user: User, _ strings: Strings) -> PageValue {
        let texts = OperatorTexts(strings: strings)
        let name = PersonText.displayName(of: user) ?? texts["noName"]
        let cells: [OperatorCell] = [
            .link(name, "/operator/users/\(user.id.rawValue)"), .text(user.email?.address),
            OperatorPages.state(user.state, texts), .text(nil), .moment(user.createdAt), .code(user.id.rawValue),
            .tone(texts["tones.wrong"], .wrong), .tick(user.id.rawValue, label: name),
        ]
        let list = OperatorSection(
            heading: texts["tabs.users"], note: texts["auditNote"],
            search: .search(
                texts["findPerson"], button: texts["find"], to: "/operator/users", name, hidden: [("state", "active")],
                choices: [
                    .choice(
                        "group", texts["group"], [("", texts["allGroups"])],
                        groups: [(texts["tabs.groups"], [(name, name)])], chosen: name)
                ], dates: [("from", texts["from"], "2026-01-31")]),
            filters: [
                .link(texts["all"], to: "/operator/users", isCurrent: true),
                .link(texts["states.pending"], to: "/operator/users?state=pending"),
            ], facts: [(texts["columns.name"], [.text(name), .secret(name), .tag(texts["relay"], isGood: true)])],
            table: OperatorTable(
                columns: ["name", "email", "state", "groups", "since", "id", "state", "select"].map {
                    texts["columns.\($0)"]
                },
                rows: [
                    cells,
                    Array(cells.dropLast()) + [
                        .several([.action(texts["actions.approve"], "/operator/change"), .text(nil)])
                    ],
                ],
                empty: texts["nothing"]),
            links: [.link(texts["actions.deleteUser"], to: "/operator/change", isDanger: true)])
        let form = OperatorSection(
            heading: texts["actions.disable"], note: texts.text("what.disable", ["name": name]),
            table: OperatorTable(columns: [], rows: [], empty: texts["nothing"]),
            form: OperatorForm(
                link: "/operator/change", isOfTicks: true, hidden: [("target", user.id.rawValue)],
                fields: [
                    .init(
                        kind: .line, name: "groups", label: texts["columns.groups"], value: name,
                        hint: texts["groupsHint"], suggestions: [name]),
                    .init(kind: .lines, name: "uris", label: texts["columns.redirectURIs"], value: name),
                    .init(kind: .tick, name: "pkce", label: texts["pkce"], isTicked: true, hint: texts["publicHint"]),
                ], button: texts["actions.disable"], isDanger: true))
        let counts = [
            SignInCount(hour: user.createdAt.hour, outcome: "signed_in", reason: "", number: 3),
            SignInCount(hour: user.createdAt.hour, outcome: "failed", reason: "clock", number: 1),
        ]
        let chart = OperatorSection(
            heading: texts["signIns"],
            chart: SignInChart(counts, at: user.createdAt).markup(label: texts["signIns"], texts: texts))
        let figures = OperatorSection(
            heading: texts["tabs.today"],
            figures: [OperatorTone.good, .unsure, .wrong].map { (tone: OperatorTone) in
                (texts["doctor"], texts["tones.\(tone)"], "/operator/doctor", tone)
            })
        let warning = OperatorSection(heading: texts["problems.lastOperator"], isWarning: true)
        return OperatorPage(
            tab: .users, title: texts["tabs.users"], sections: [warning, figures, list, form, chart]
        ).values(
            notice: texts.text("done", ["action": texts["actions.approve"]]), person: name,
            texts: texts, link: { $0 }
        ).scripted(scriptNonce)
    }
}
