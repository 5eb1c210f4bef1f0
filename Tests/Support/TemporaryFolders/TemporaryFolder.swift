internal import Foundation

/// A folder of its own, removed with the value.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init(mode: Int = 0o700) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: mode])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file with the mode and gives its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String, mode: Int = 0o600) throws -> String {
        let path = path + "/" + name
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @discardableResult
    package func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }
}
