import Accounts
import Coding
import HTTP

/// `/operator/sessions`: everybody who is signed in, or where one person is.
struct OperatorSessions: Sendable {
    let people: OperatorPeople

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let (gate, texts) = (people.gate, visit.texts)
        let text = try gate.parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        let list = OperatorList(
            tab: .sessions, columns: [texts["columns.name"]] + Self.columns(texts), hasActions: true,
            search: .init(
                label: texts["auditOf"], button: texts["find"],
                link: gate.link("/operator/sessions", [], visit.locale), value: text ?? ""),
            query: [("q", text)]
        ) { after, limit throws(WebFailure) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return OperatorList.Part(rows: [], next: nil) }
            let cursor = after.flatMap(OperatorPlace.init).map {
                SessionCursor(time: $0.time, id: SessionID(unchecked: $0.id))
            }
            let page = try await WebFailure.mapping(
                await people.database.sessions(
                    of: user, by: .newest, after: cursor, limit: limit, at: visit.now))
            let names = try await WebFailure.mapping(await people.database.users(Set(page.items.map(\.user))))
                .mapValues { people.person($0, visit) }
            return OperatorList.Part(
                rows: page.items.map { [names[$0.user] ?? .code($0.user.rawValue)] + Self.row($0, gate, visit) },
                next: page.next.map { OperatorPlace(time: $0.time, id: $0.id.rawValue).text })
        }
        return try await list.answer(visit, gate)
    }

    static func columns(_ texts: OperatorTexts) -> [String] {
        ["device", "address", "signedIn", "lastActive", "id", "change"].map { texts["columns.\($0)"] }
    }

    static func row(_ session: Session, _ gate: OperatorGate, _ visit: OperatorGate.Visit) -> [OperatorCell] {
        [
            .text(DeviceDescription.text(of: session, strings: visit.texts.strings)), .text(session.device.address),
            .moment(session.createdAt), .moment(session.lastSeenAt), .code(session.id.rawValue),
            .action(
                visit.texts["actions.endSession"],
                gate.link(
                    "/operator/change",
                    [("action", OperatorAction.endSession.rawValue), ("target", session.id.rawValue)], visit.locale)),
        ]
    }
}

/// Where a page of a list ended that is ordered by time and id, as a parameter.
struct OperatorPlace: Sendable {
    var time: Timestamp
    var id: String

    init(time: Timestamp, id: String) {
        self.time = time
        self.id = id
    }

    init?(_ text: String) {
        guard let dot = text.firstIndex(of: "."), let milliseconds = Int64(text[..<dot]) else { return nil }
        self.init(time: Timestamp(milliseconds: milliseconds), id: String(text[text.index(after: dot)...]))
    }

    var text: String { "\(time.milliseconds).\(id)" }
}
