import Accounts
import HTTP
import Storage

/// `/operator/sessions`: everybody who is signed in, or where one person is.
struct OperatorSessions: Sendable {
    let people: OperatorPeople

    func list(_ visit: OperatorGate.Visit) async throws(WebFailure) -> ServerResponse {
        let (gate, texts) = (people.gate, visit.texts)
        let text = try gate.parameter("q", visit)
        let user = text.flatMap { UserID(parsing: $0) }
        let list = OperatorList(
            tab: .sessions,
            columns: [.init("name") { people.person($0.user, $0.session.user, visit) }]
                + Self.columns(visit) { (row: (session: Session, user: User?)) in row.session },
            places: .sessions,
            search: .init(
                label: texts["auditOf"], button: texts["find"], link: visit.link("/operator/sessions"),
                value: text ?? ""),
            query: [("q", text)]
        ) { (place, limit) async throws(StoreError) in
            // What is not an id belongs to nobody.
            if text != nil, user == nil { return Page() }
            return try await people.database.sessionsOfPeople(of: user, after: place, limit: limit, at: visit.now)
        }
        return try await list.answer(visit, gate)
    }

    static func columns<Item>(
        _ visit: OperatorGate.Visit, _ session: @escaping @Sendable (Item) -> Session
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
