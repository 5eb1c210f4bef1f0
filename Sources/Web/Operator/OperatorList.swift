import Accounts
import HTTP

/// A list of the operator's page: a page of 50 rows, or as a file.
struct OperatorList: Sendable {
    /// Rows on a page.
    static let pageSize = 50
    /// Rows in a file.
    static let fileSize = 100_000

    struct Part: Sendable {
        var rows: [[OperatorCell]]
        /// Where the next page begins; nil at the end.
        var next: String?
    }

    var tab: OperatorPage.Tab
    var columns: [String]
    /// Whether the last column is of links that change something, which have no place in a file.
    var hasActions = false
    var note: String?
    var search: OperatorSection.Search?
    var filters: [OperatorSection.Link] = []
    var links: [OperatorSection.Link] = []
    /// The parameters in force, which links to other pages of the list keep.
    var query: [(String, String?)] = []
    /// Reads at most `limit` rows after the place.
    var read: @Sendable (_ after: String?, _ limit: Int) async throws(WebFailure) -> Part

    func answer(_ visit: OperatorGate.Visit, _ gate: OperatorGate) async throws(WebFailure) -> ServerResponse {
        if try gate.parameter("format", visit) == "csv" { return try await file(visit, gate) }
        let part = try await read(try gate.parameter("after", visit), Self.pageSize)
        let texts = visit.texts
        var links = links
        if let next = part.next {
            links.insert(
                .init(text: texts["nextPage"], link: gate.link(tab.path, query + [("after", next)], visit.locale)),
                at: 0)
        }
        if !part.rows.isEmpty {
            links.append(
                .init(text: texts["csv"], link: gate.link(tab.path, query + [("format", "csv")], visit.locale)))
        }
        let section = OperatorSection(
            heading: texts["tabs.\(tab)"], note: note, search: search, filters: filters,
            table: OperatorTable(columns: columns, rows: part.rows, empty: texts["nothing"]), links: links)
        return gate.page(OperatorPage(tab: tab, title: texts["tabs.\(tab)"], sections: [section]), visit)
    }

    private func file(_ visit: OperatorGate.Visit, _ gate: OperatorGate) async throws(WebFailure) -> ServerResponse {
        try gate.requireOwn(visit)
        return try await gate.file(
            OperatorCSV(self), type: "text/csv; charset=utf-8", name: "bramley-\(tab.rawValue).csv", route: tab.path)
    }
}
