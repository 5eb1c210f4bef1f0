import Bramley
import Foundation
import Testing

struct ConfigurationReferenceTests {
    @Test func pageSaysWhatTheTableSays() throws {
        let page = try String(
            contentsOf: packageRoot.appending(path: "docs/reference/configuration.md"), encoding: .utf8)
        #expect(page == ConfigurationTable.reference, "run `make docs`")
    }

    @Test func schemaSaysWhatTheTableSays() throws {
        let file = try String(contentsOf: packageRoot.appending(path: "docs/config.schema.json"), encoding: .utf8)
        #expect(file == ConfigurationSchema.text, "run `make docs`")
    }

    @Test(arguments: ConfigurationTable.keys.map(\.name))
    func everyKeyHasARow(name: String) {
        #expect(ConfigurationTable.reference.contains("\n| `\(name)` | "))
    }
}
