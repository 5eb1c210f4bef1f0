import Coding
import FoundationEssentials
import Sockets

/// Writes the result of `bramley init`: the configuration and, next to it, its schema.
struct ConfigurationOutput {
    let path: String
    let replacesFiles: Bool

    var schemaPath: String {
        guard let slash = path.lastIndex(of: "/") else { return ConfigurationSchema.fileName }
        return path[...slash] + ConfigurationSchema.fileName
    }

    private var schema: [UInt8] { Array(ConfigurationSchema.text.utf8) }

    /// Before anything is asked: whether writing can succeed at all.
    func check() throws(SetupFailure) {
        if path == schemaPath {
            throw .cannotWrite("\(path.quoted) is the name of the schema. Name another file with --output.")
        }
        if isDirectory(path) { throw .cannotWrite("\(path.quoted) is a directory. Name a file with --output.") }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard isDirectory(directory) else {
            throw .cannotWrite("The directory \(directory.quoted) does not exist. Make it first.")
        }
        if replacesFiles { return }
        if GuardedFile.exists(path) { throw alreadyThere(path) }
        if GuardedFile.exists(schemaPath), !holdsSchema { throw alreadyThere(schemaPath) }
    }

    /// The schema first and the configuration last: once that exists, everything does.
    func write(_ document: JSONObject) throws(SetupFailure) {
        let isOurs = !holdsSchema
        if isOurs { try write(schema, to: schemaPath, mode: 0o644) }
        do throws(SetupFailure) {
            try write(Array(JSONLayout.text(.object(document)).utf8), to: path, mode: 0o600)
        } catch {
            if isOurs, !replacesFiles { try? FileManager.default.removeItem(atPath: schemaPath) }
            throw error
        }
    }

    private var holdsSchema: Bool {
        guard let file = try? GuardedFile.read(schemaPath, maximumBytes: ConfigurationFile.maximumBytes) else {
            return false
        }
        return file.bytes == schema
    }

    private func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(SetupFailure) {
        do throws(SystemError) {
            if replacesFiles {
                try Files.replace(path, mode: mode, bytes: bytes)
            } else {
                try Files.create(path, mode: mode, bytes: bytes)
            }
        } catch {
            if error.isAlreadyThere { throw alreadyThere(path) }
            throw .cannotWrite("\(path.quoted) cannot be written: \(error).")
        }
    }

    private func alreadyThere(_ path: String) -> SetupFailure {
        .cannotWrite(
            "\(path.quoted) exists, and was left as it is. Name another with --output, or replace it with --force.")
    }

    private func isDirectory(_ path: String) -> Bool {
        var isDirectory = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
    }
}
