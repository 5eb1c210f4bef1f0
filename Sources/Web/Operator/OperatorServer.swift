import Accounts
import Coding
import HTTP
import Storage

/// A key of the configuration, as the server read it at its start.
package struct OperatorSetting: Sendable {
    var key: String
    /// Nil for a secret, which is only known to be set.
    var value: String?
    /// The file, variable or flag that gives it; nil for a default.
    var source: String?

    package init(key: String, value: String?, source: String?) {
        self.key = key
        self.value = value
        self.source = source
    }
}

/// `/operator/server`: what runs, on which database, and how it is configured. Nothing changes here.
extension OperatorPages {
    func server(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        try await console.report()
        let texts = visit.texts
        let page = OperatorPage(
            tab: .server, title: texts["tabs.server"],
            sections: [
                try await servers(visit), try await databaseFacts(visit), settings(texts),
                OperatorSection(
                    heading: texts["defaults"],
                    table: OperatorTable(
                        Array(settingColumns(texts).prefix(2)), console.settings.filter { $0.source == nil }, texts,
                        empty: "nothing")),
            ])
        return self.page(page, visit)
    }

    /// What is set. The path of the file, which most of it is in, is said once.
    private func settings(_ texts: OperatorTexts) -> OperatorSection {
        let given = console.settings.filter { $0.source != nil }
        let counts = Dictionary(given.map { ($0.source, 1) }, uniquingKeysWith: +)
        let file = counts.max { $0.value < $1.value }.flatMap { $0.value > 1 ? $0.key : nil }
        let columns = settingColumns(texts).prefix(counts.count == 1 && file != nil ? 2 : 3)
        return OperatorSection(
            heading: texts["settings"], note: texts["settingsNote"],
            facts: file.map { [texts.fact("source", .code($0))] } ?? [],
            table: OperatorTable(Array(columns), given, texts, empty: "nothing"))
    }

    private func databaseFacts(_ visit: OperatorVisit) async throws(Failure) -> OperatorSection {
        let texts = visit.texts
        let facts = try await database.facts()
        return OperatorSection(
            heading: texts["columns.database"],
            // PostgreSQL's backups are made by its own tools.
            note: database.store.isShared ? texts["postgresBackups"] : nil,
            facts: [
                texts.fact("database", .code(console.database)),
                texts.fact("size", .text(Quantity.bytes(facts.bytes))),
            ] + (database.store.isShared ? [] : [texts.fact("lastBackup", .moment(facts.lastBackup))]))
    }

    private func settingColumns(_ texts: OperatorTexts) -> [OperatorColumn<OperatorSetting>] {
        [
            .init("setting") { .code($0.key) },
            .init("value") { $0.value.map { .code($0) } ?? .tag(texts["secretSet"], isGood: true) },
            .init("source") { $0.source?.split(separator: "/").last.map { .code(String($0)) } ?? .text(nil) },
        ]
    }
}
