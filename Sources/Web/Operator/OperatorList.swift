import Accounts
import HTTP

/// A column of an operator's table or file, and what it shows of each row.
struct OperatorColumn<Item: Sendable>: Sendable {
    /// Its heading is this text below `operator.columns`.
    let heading: String
    let isOnlyInFile: Bool
    let cell: @Sendable (Item) -> OperatorCell

    init(_ heading: String, isOnlyInFile: Bool = false, _ cell: @escaping @Sendable (Item) -> OperatorCell) {
        self.heading = heading
        self.isOnlyInFile = isOnlyInFile
        self.cell = cell
    }

    /// For links that change something; not in CSV files.
    static func change(_ cell: @escaping @Sendable (Item) -> OperatorCell) -> OperatorColumn {
        OperatorColumn("change", cell)
    }
}

extension OperatorTable {
    /// - Parameter empty: shown when there are no rows.
    init<Item>(_ columns: [OperatorColumn<Item>], _ rows: some Sequence<Item>, _ texts: OperatorTexts, empty: String) {
        let columns = columns.filter { !$0.isOnlyInFile }
        self.init(
            columns: columns.map { texts["columns.\($0.heading)"] },
            rows: rows.map { row in columns.map { $0.cell(row) } }, empty: texts[empty])
    }
}

/// Rows of a list that can be ticked, to make the same change of several.
struct OperatorTicks<Item: Sendable>: Sendable {
    let action: OperatorAction
    /// The text of the button.
    let button: String
    /// The target of a row, and what it is called; nil for one that cannot be ticked.
    let target: @Sendable (Item) -> (id: String, label: String)?

    func column() -> OperatorColumn<Item> {
        OperatorColumn("select") { item in target(item).map { .tick($0.id, label: $0.label) } ?? .text(nil) }
    }

    func form(_ visit: OperatorVisit) -> OperatorForm {
        OperatorForm(
            link: visit.link("/operator/change"), isOfTicks: true,
            hidden: [("action", action.rawValue), ("back", visit.here)] + visit.language,
            button: visit.texts[button], isDanger: action.isDanger)
    }
}

/// A list of the operator's page: a page of 50 rows, or as a file.
struct OperatorList<Item: Sendable, Place: Sendable>: Sendable {
    var tab: OperatorPage.Tab
    var columns: [OperatorColumn<Item>]
    var places: Places<Place>
    var note: String?
    var search: PageValue?
    var filters: [PageValue] = []
    var links: [PageValue] = []
    var ticks: OperatorTicks<Item>?
    /// The parameters in force, which links to other pages of the list keep.
    var query: [(String, String?)] = []
    /// Reads at most `limit` rows after the place.
    var read: @Sendable (_ after: Place?, _ limit: Int) async throws(Failure) -> Page<Item, Place>

    func answer(_ visit: OperatorVisit, _ pages: OperatorPages) async throws(Failure) -> ServerResponse {
        if try pages.parameter("format", visit) == "csv" { return try await file(visit, pages) }
        let title = visit.texts["tabs.\(tab)"]
        let section = try await section(title, after: try pages.parameter("after", visit), visit)
        return pages.page(OperatorPage(tab: tab, title: title, sections: [section]), visit)
    }

    func section(
        _ heading: String, after place: String?, _ visit: OperatorVisit
    ) async throws(Failure) -> OperatorSection {
        let page = try await read(place.flatMap(places.place), 50)
        func link(_ text: String, _ parameter: (String, String?)) -> PageValue {
            visit.link(named: text, to: tab.path, query + [parameter])
        }
        let next = page.next.map { link("nextPage", ("after", places.text($0))) }
        let file = page.items.isEmpty ? nil : link("csv", ("format", "csv"))
        let ticks = ticks.flatMap { ticks in page.items.contains { ticks.target($0) != nil } ? ticks : nil }
        return OperatorSection(
            heading: heading, note: note, search: search, filters: filters,
            table: OperatorTable(
                [ticks?.column()].compactMap(\.self) + columns, page.items, visit.texts, empty: "nothing"),
            links: [next].compactMap(\.self) + links + [file].compactMap(\.self), form: ticks?.form(visit))
    }

    private func file(_ visit: OperatorVisit, _ pages: OperatorPages) async throws(Failure) -> ServerResponse {
        try pages.requireOwn(visit)
        return try await pages.file(
            OperatorCSV(self, visit.texts), type: "text/csv; charset=utf-8", name: "bramley-\(tab.rawValue).csv",
            route: tab.path)
    }
}

/// A list as a CSV file (RFC 4180), read and written piece by piece.
struct OperatorCSV<Item: Sendable, Place: Sendable>: PieceSource {
    private let list: OperatorList<Item, Place>
    private let columns: [OperatorColumn<Item>]
    private let headings: String
    private var rows: ArraySlice<Item> = []
    private var place: Place?
    /// How many more rows it may have.
    private var left = 100_000
    private var isBegun = false
    private var isDone = false

    init(_ list: OperatorList<Item, Place>, _ texts: OperatorTexts) {
        self.list = list
        columns = list.columns.filter { $0.heading != "change" }
        headings = Self.line(columns.map { texts["columns.\($0.heading)"] })
    }

    mutating func next() async throws(Failure) -> [UInt8]? {
        var text = isBegun ? "" : headings
        if rows.isEmpty {
            guard !isDone else { return nil }
            try await read()
        }
        while text.utf8.count < Pieces.size, let row = rows.popFirst() {
            text += Self.line(columns.map { $0.cell(row).plain ?? "" })
        }
        return Array(text.utf8)
    }

    private mutating func read() async throws(Failure) {
        let page = try await list.read(place, min(100, left))
        isBegun = true
        rows = page.items[...]
        left -= page.items.count
        place = page.next
        isDone = place == nil || left <= 0
    }

    private static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") + "\r\n" }

    /// Quoted, and never a formula: spreadsheets calculate what begins with these signs, and strangers choose names.
    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { Array("=+-@\t\r".utf8).contains($0) } ?? false
        return "\"" + (isFormula ? "'" : "") + text.replacing("\"", with: "\"\"") + "\""
    }
}
