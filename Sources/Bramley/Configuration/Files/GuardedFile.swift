import Coding
import FoundationEssentials

/// A file the operator named, completely read, and who else on this machine can read it.
struct GuardedFile {
    /// Text in UTF-8 without a mark, whatever editor wrote it.
    let bytes: [UInt8]
    /// The permission bits, following symbolic links.
    let mode: Int
    /// Owned by root with a group other than root's: root has chosen who may read it, such as a service's own user.
    var isGivenToGroup = false

    var isWorldReadable: Bool { mode & 0o004 != 0 }
    var isGroupReadable: Bool { mode & 0o040 != 0 }
    var isWritableByOthers: Bool { mode & 0o022 != 0 }

    /// Why it cannot be read, as the end of a sentence about the file.
    enum Failure: Error {
        case missing, notAFile, unreadable, tooLarge(Int)

        var fault: String {
            switch self {
            case .missing: "does not exist."
            case .notAFile: "is not a file."
            case .unreadable: "cannot be read by the user that runs bramley."
            case .tooLarge(let limit): "is larger than \(limit) bytes, so it is not what it should be."
            }
        }

        /// What to do about it, where the configuration names the file.
        func remedy(for path: String) -> String {
            switch self {
            case .missing, .notAFile, .tooLarge:
                "Name the file; a relative path in the configuration file begins at the folder of that file."
            case .unreadable:
                "Let that user read it: chown USER \(path), with x for USER on every folder above."
            }
        }
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: path)
    }

    /// Whether the file is in a folder that this user may not enter, so that its existence is unknown.
    static func isHidden(_ path: String) -> Bool {
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return exists(folder) && !FileManager.default.isExecutableFile(atPath: folder)
    }

    /// Whether the file exists, or may exist.
    static func mayExist(_ path: String) -> Bool {
        exists(path) || isHidden(path)
    }

    static func read(_ path: String, maximumBytes: Int) throws(Failure) -> GuardedFile {
        // attributesOfItem does not follow links, and secrets are often mounted as links.
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path
        let manager = FileManager.default
        guard manager.fileExists(atPath: resolved) else { throw .missing }
        let attributes: [FileAttributeKey: Any]
        do { attributes = try manager.attributesOfItem(atPath: resolved) } catch { throw .unreadable }
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw .notAFile }
        guard let size = integer(attributes[.size]), let mode = integer(attributes[.posixPermissions]) else {
            throw .unreadable
        }
        guard size <= maximumBytes else { throw .tooLarge(maximumBytes) }
        let isGivenToGroup =
            integer(attributes[.ownerAccountID]) == 0 && integer(attributes[.groupOwnerAccountID]) != 0
        // Foundation leaks four KiB with every empty file it reads, and some files are read again and again while the
        // server runs.
        guard size > 0 else {
            guard manager.isReadableFile(atPath: resolved) else { throw .unreadable }
            return GuardedFile(bytes: [], mode: mode, isGivenToGroup: isGivenToGroup)
        }
        do {
            let data = try Data(contentsOf: URL(filePath: resolved))
            return GuardedFile(bytes: PastedText.utf8([UInt8](data)), mode: mode, isGivenToGroup: isGivenToGroup)
        } catch {
            throw .unreadable
        }
    }

    /// Attributes have whatever integer type the platform uses.
    private static func integer(_ value: Any?) -> Int? {
        if let value = value as? Int { return value }
        if let value = value as? UInt { return Int(exactly: value) }
        return (value as? any BinaryInteger).flatMap { Int(exactly: $0) }
    }
}
