import Coding
import Foundation

enum TestVectors {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

    /// - Throws: when the file is missing or no JSON object.
    static func object(_ name: String) throws -> JSONObject {
        let bytes = [UInt8](try Data(contentsOf: directory.appending(path: name)))
        guard let object = try JSONReader.parse(bytes).objectValue else { throw CocoaError(.fileReadCorruptFile) }
        return object
    }
}

extension JSONObject {
    func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
    func object(_ name: String) -> JSONObject { self[name]?.objectValue ?? [:] }
    func objects(_ name: String) -> [JSONObject] { self[name]?.arrayValue?.compactMap(\.objectValue) ?? [] }
    func bytes(_ name: String) -> [UInt8] { Hexadecimal.decode(text(name)) ?? [] }
}

/// The bytes of hexadecimal text; spaces are ignored. Empty when it is none, which fails the test that uses it.
func hex(_ text: String) -> [UInt8] {
    Hexadecimal.decode(text.filter { $0 != " " && $0 != "\n" }) ?? []
}
