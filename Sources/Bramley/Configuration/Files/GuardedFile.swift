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

    /// The most that is read of a file with a key or a certificate, in bytes.
    static let longestKey = 65_536

    var holdsPrivateKey: Bool { String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") }
    var isWritableByOthers: Bool { mode & 0o022 != 0 }

    /// The fault of a file that this user may not read; the system's configuration has its own remedy.
    static let unreadable = "cannot be read by the user that runs bramley."

    private static func flaw(_ fault: String) -> InputFlaw {
        InputFlaw(fault, "Name the file; relative paths in the configuration file start at its folder.")
    }

    private static func unreadable(_ path: String) -> InputFlaw {
        InputFlaw(unreadable, "Let that user read it: chown USER \(path), with x for USER on every folder above.")
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Whether the file is in a folder that this user may not enter, so that its existence is unknown.
    static func isHidden(_ path: String) -> Bool {
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return exists(folder) && !FileManager.default.isExecutableFile(atPath: folder)
    }

    static func mayExist(_ path: String) -> Bool { exists(path) || isHidden(path) }

    static func read(_ path: String, maximumBytes: Int = longestKey) throws(InputFlaw) -> GuardedFile {
        // attributesOfItem does not follow links, and secrets are often mounted as links.
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path
        let manager = FileManager.default
        guard manager.fileExists(atPath: resolved) else { throw flaw("does not exist.") }
        let attributes: [FileAttributeKey: Any]
        do { attributes = try manager.attributesOfItem(atPath: resolved) } catch { throw unreadable(path) }
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw flaw("is not a file.") }
        guard let size = integer(attributes[.size]), let mode = integer(attributes[.posixPermissions]) else {
            throw unreadable(path)
        }
        guard size <= maximumBytes else {
            throw flaw("is larger than \(maximumBytes) bytes, so it cannot be the right file.")
        }
        let isGivenToGroup =
            integer(attributes[.ownerAccountID]) == 0 && integer(attributes[.groupOwnerAccountID]) != 0
        // Foundation leaks four KiB with every empty file, and some are read again and again while the server runs.
        guard size > 0 else {
            guard manager.isReadableFile(atPath: resolved) else { throw unreadable(path) }
            return GuardedFile(bytes: [], mode: mode, isGivenToGroup: isGivenToGroup)
        }
        do {
            let data = try Data(contentsOf: URL(filePath: resolved))
            return GuardedFile(bytes: PastedText.utf8([UInt8](data)), mode: mode, isGivenToGroup: isGivenToGroup)
        } catch {
            throw unreadable(path)
        }
    }

    /// Its content, unless others have these permissions: by default, everybody to read it, or anybody to change it.
    func bytes(at path: String, without others: Int = 0o026) throws(InputFlaw) -> [UInt8] {
        guard mode & others == 0 else { throw InputFlaw("is open to others: run chmod 600 \(path).") }
        return bytes
    }

    /// Who else may read or change it: an error for a secret that all users can read and for a file that others can
    /// change, a warning for a group. `key` is empty for the configuration file.
    func modeProblem(at path: String, key: String, source: String?, holdsSecret: Bool) -> ConfigurationProblem? {
        func problem(
            _ severity: ConfigurationProblem.Severity, _ fault: String, _ remedy: String = "Run: chmod 600 "
        ) -> ConfigurationProblem {
            let octal = "0" + String(mode & 0o777, radix: 8)
            return ConfigurationProblem(
                severity: severity, key: key, source: source ?? path,
                fault: "\(key.isEmpty ? "" : "\(path.quoted) ")can be \(fault) (mode \(octal)).", remedy: remedy + path)
        }
        if isWritableByOthers { return problem(.error, "changed by other users") }
        if mode & 0o004 != 0 { return problem(holdsSecret ? .error : .warning, "read by every user of this machine") }
        guard mode & 0o040 != 0, !isGivenToGroup else { return nil }
        return problem(.warning, "read by its group", "Unless that is meant, run: chmod 600 ")
    }

    /// Attributes have whatever integer type the platform uses, and are an NSNumber with all of Foundation in the process.
    static func integer(_ value: Any?) -> Int? {
        if let value = value as? Int { return value }
        if let value = value as? UInt { return Int(exactly: value) }
        return (value as? any BinaryInteger).flatMap { Int(exactly: $0) }
    }
}

/// The folder of the configuration file, against which its relative paths are resolved.
struct ConfigurationFolder {
    /// Empty for the working directory, otherwise with a trailing slash.
    private let prefix: Substring

    /// - Parameter file: as it was named. Links are not followed: what belongs to a linked file is next to the link.
    init(of file: String) { prefix = file.lastIndex(of: "/").map { file[...$0] } ?? "" }

    func resolving(_ path: String) -> String {
        // An empty path is reported as a mistake elsewhere.
        path.isEmpty || path.hasPrefix("/") ? path : prefix + path
    }

    func relative(_ path: String) -> String {
        guard !prefix.isEmpty, !path.isEmpty, !path.hasPrefix("/") else { return path }
        let (file, folder) = (Self.absolute(path), Self.absolute(String(prefix)))
        let inner = folder.hasSuffix("/") ? folder : folder + "/"
        return file.hasPrefix(inner) ? String(file.dropFirst(inner.count)) : file
    }

    private static func absolute(_ path: String) -> String {
        let start = path.hasPrefix("/") ? "" : FileManager.default.currentDirectoryPath
        var parts: [Substring] = []
        for part in "\(start)/\(path)".split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}
