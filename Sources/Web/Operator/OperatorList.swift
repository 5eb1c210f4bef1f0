import Accounts
import HTTP
import Storage

/// A column of an operator's table or file, and what it shows of each row.
struct OperatorColumn<Item: Sendable>: Sendable {
    /// Its heading is this text below `operator.columns`.
    let heading: String
    let cell: @Sendable (Item) -> OperatorCell

    init(_ heading: String, _ cell: @escaping @Sendable (Item) -> OperatorCell) {
        self.heading = heading
        self.cell = cell
    }

    /// Of links that change something, which have no place in a file.
    static func change(_ cell: @escaping @Sendable (Item) -> OperatorCell) -> OperatorColumn {
        OperatorColumn("change", cell)
    }
}

extension OperatorTable {
    /// - Parameter empty: shown when there are no rows.
    init<Item>(_ columns: [OperatorColumn<Item>], _ rows: some Sequence<Item>, _ texts: OperatorTexts, empty: String) {
        self.init(
            columns: columns.map { texts["columns.\($0.heading)"] },
            rows: rows.map { row in columns.map { $0.cell(row) } }, empty: texts[empty])
    }
}

/// A list of the operator's page: a page of 50 rows, or as a file.
struct OperatorList<Item: Sendable, Place: Sendable>: Sendable {
    var tab: OperatorPage.Tab
    var columns: [OperatorColumn<Item>]
    var places: Places<Place>
    var note: String?
    var search: OperatorSection.Search?
    var filters: [OperatorSection.Link] = []
    var links: [OperatorSection.Link] = []
    /// The parameters in force, which links to other pages of the list keep.
    var query: [(String, String?)] = []
    /// Reads at most `limit` rows after the place.
    var read: @Sendable (_ after: Place?, _ limit: Int) async throws(StoreError) -> Page<Item, Place>

    func answer(_ visit: OperatorGate.Visit, _ gate: OperatorGate) async throws(WebFailure) -> ServerResponse {
        if try gate.parameter("format", visit) == "csv" { return try await file(visit, gate) }
        let title = visit.texts["tabs.\(tab)"]
        let section = try await section(title, after: try gate.parameter("after", visit), visit)
        return gate.page(OperatorPage(tab: tab, title: title, sections: [section]), visit)
    }

    func section(
        _ heading: String, after place: String?, _ visit: OperatorGate.Visit
    ) async throws(WebFailure) -> OperatorSection {
        let page = try await page(after: place.flatMap(places.place), limit: 50)
        func link(_ text: String, _ parameter: (String, String?)) -> OperatorSection.Link {
            .init(text: visit.texts[text], link: visit.link(tab.path, query + [parameter]))
        }
        let next = page.next.map { link("nextPage", ("after", places.text($0))) }
        let file = page.items.isEmpty ? nil : link("csv", ("format", "csv"))
        return OperatorSection(
            heading: heading, note: note, search: search, filters: filters,
            table: OperatorTable(columns, page.items, visit.texts, empty: "nothing"),
            links: [next].compactMap(\.self) + links + [file].compactMap(\.self))
    }

    private func file(_ visit: OperatorGate.Visit, _ gate: OperatorGate) async throws(WebFailure) -> ServerResponse {
        try gate.requireOwn(visit)
        return try await gate.file(
            OperatorCSV(self, visit.texts), type: "text/csv; charset=utf-8", name: "bramley-\(tab.rawValue).csv",
            route: tab.path)
    }

    func page(after place: Place?, limit: Int) async throws(WebFailure) -> Page<Item, Place> {
        try await WebFailure.mapping(await read(place, limit))
    }
}
