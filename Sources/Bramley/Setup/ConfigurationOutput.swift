import Coding
import FoundationEssentials
import Sockets

struct ConfigurationOutput {
    let path: String
    let replacesFiles: Bool

    /// What is at `path`, if it does not say who we are at Apple: the Debian package's blank file, or one that a
    /// rehearsal left. It may be replaced by one that completes it.
    let unfinished: [UInt8]?

    init(path: String, replacesFiles: Bool) {
        self.path = path
        self.replacesFiles = replacesFiles
        unfinished = Self.unfinished(path)
    }

    /// Where `init` writes when nobody says: into the package's unfinished configuration, or here.
    static var defaultPath: String {
        let (here, system) = (ConfigurationLoader.defaultPath, ConfigurationLoader.systemPath)
        return !GuardedFile.exists(here) && unfinished(system) != nil ? system : here
    }

    private static func unfinished(_ path: String) -> [UInt8]? {
        guard let bytes = try? GuardedFile.read(path, maximumBytes: GivenValues.maximumFileBytes).bytes,
            let document = (try? JSONReader.parse(bytes))?.objectValue
        else { return nil }
        return document["apple"]?.objectValue?["servicesID"] == nil ? bytes : nil
    }

    var schemaPath: String {
        guard let slash = path.lastIndex(of: "/") else { return ConfigurationSchema.fileName }
        return path[...slash] + ConfigurationSchema.fileName
    }

    private var schema: [UInt8] { Array(ConfigurationSchema.text.utf8) }

    /// Before anything is asked: whether writing can succeed at all.
    func check() throws(CommandFailure) {
        if path == schemaPath {
            throw CommandFailure("\(path.quoted) is reserved for the schema. Choose another file with --output.")
        }
        if isDirectory(path) { throw CommandFailure("\(path.quoted) is a directory. Choose a file with --output.") }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard isDirectory(directory) else {
            throw CommandFailure("The directory \(directory.quoted) does not exist. Create it first.")
        }
        if replacesFiles { return }
        if GuardedFile.exists(path), unfinished == nil { throw alreadyThere(path) }
        if GuardedFile.exists(schemaPath), !holdsSchema { throw alreadyThere(schemaPath) }
    }

    /// Whether it is the package's: its service reads only what is in that folder, and writes only its own data.
    var isOfPackage: Bool { path == ConfigurationLoader.systemPath }

    /// A name next to the configuration.
    func beside(_ name: String) -> String { ConfigurationFolder(of: path).resolving(name) }

    /// A file whose owner and mode its neighbours get; nil where they are the user's own.
    var model: String? { isOfPackage ? path : nil }

    /// Copies the key file next to the configuration: the service cannot read home directories. Nil if it is there.
    func copyKey(_ key: String) throws(CommandFailure) -> String? {
        let (source, folder) = (URL(filePath: key).standardizedFileURL, URL(filePath: path).deletingLastPathComponent())
        let copy = folder.appending(path: source.lastPathComponent).path
        guard source.path != copy else { return nil }
        do {
            let file = try GuardedFile.read(key, maximumBytes: GivenValues.maximumFileBytes)
            if let other = try? GuardedFile.read(copy, maximumBytes: GivenValues.maximumFileBytes),
                other.bytes == file.bytes
            {
                return copy
            }
            try Files.create(copy, mode: 0o600, like: path, bytes: file.bytes)
        } catch let failure as InputFlaw {
            throw CommandFailure("\(key.quoted) \(failure.fault)")
        } catch {
            throw CommandFailure("\(copy.quoted) cannot be written: \(error).")
        }
        return copy
    }

    /// The schema first and the configuration last: once that exists, everything does.
    func write(_ document: JSONObject) throws(CommandFailure) {
        let isOurs = !holdsSchema
        if isOurs { try write(schema, to: schemaPath, mode: 0o644) }
        do throws(CommandFailure) {
            try write(Array(JSONLayout.text(.object(document)).utf8), to: path, mode: 0o600)
        } catch {
            if isOurs, !replacesFiles { try? FileManager.default.removeItem(atPath: schemaPath) }
            throw error
        }
    }

    private var holdsSchema: Bool {
        (try? GuardedFile.read(schemaPath, maximumBytes: GivenValues.maximumFileBytes))?.bytes == schema
    }

    private func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(CommandFailure) {
        do throws(SystemError) {
            if replacesFiles || unfinished != nil && path == self.path {
                // The package has decided who may read its own.
                let model = path == ConfigurationLoader.systemPath ? path : nil
                try Files.replace(path, mode: mode, like: model, bytes: bytes)
            } else {
                try Files.create(path, mode: mode, bytes: bytes)
            }
        } catch {
            if error.isAlreadyThere { throw alreadyThere(path) }
            throw CommandFailure("\(path.quoted) cannot be written: \(error).")
        }
    }

    private func alreadyThere(_ path: String) -> CommandFailure {
        CommandFailure(
            "\(path.quoted) already exists and was not changed. Choose another with --output, or pass --force.")
    }

    private func isDirectory(_ path: String) -> Bool {
        var isDirectory = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
    }
}
