import Bramley
import Foundation
import Testing

struct ConfigurationReferenceTests {
    @Test func pageAndSchemaMatchTheTable() throws {
        let page = try text(ofFile: "docs/reference/configuration.md")
        #expect(page == ConfigurationTable.reference, "run `make docs`")
        let file = try text(ofFile: "docs/config.schema.json")
        #expect(file == ConfigurationSchema.text, "run `make docs`")
    }

    @Test(arguments: ConfigurationTable.keys.map(\.name))
    func everyKeyHasARow(name: String) {
        #expect(ConfigurationTable.reference.contains("\n- `\(name)`"))
    }
}
