internal import Coding
internal import Crypto
internal import FoundationEssentials
internal import Sockets
internal import Storage

/// A rotation changes three kinds of files, each durably and at once: `sealing.key`, which seals; `sealing.key.next`, which
/// only opens until it takes over; and `sealing.key.former-ID`, a former key
/// that still opens.
extension SealingKeyFile {
    static func next(_ path: String) -> String { "\(path).next" }

    static func formers(_ path: String) -> [String] {
        let (directory, name) = (
            URL(filePath: path).deletingLastPathComponent().path, URL(filePath: path).lastPathComponent
        )
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter {
            $0.hasPrefix("\(name).") && $0.dropFirst(name.count + 1).wholeMatch(of: /former-[0-9a-f]{8}/) != nil
        }
        .sorted().map { "\(directory)/\($0)" }
    }

    static func id(of path: String) throws(CommandFailure) -> String { SealingKey(material: try read(path)).id }

    /// Makes the next key, unless it is there.
    static func prepare(_ path: String, _ random: any RandomSource) throws(CommandFailure) {
        guard !GuardedFile.exists(next(path)) else { return }
        try write(next(path)) { () throws(SystemError) in
            try Files.create(
                next(path), mode: 0o600, like: path, bytes: Array(SealingKeyText.render(random.bytes(32)).utf8))
        }
    }

    /// Keeps the key as a former one, and puts the next one into its file, whose owner and mode stay.
    static func takeOver(_ path: String) throws(CommandFailure) {
        let former = "\(path).former-\(try id(of: path))"
        let isDone = try id(of: path).isExactly(try id(of: next(path)))
        let (old, new) = (try bytes(path), try bytes(next(path)))
        if !isDone, GuardedFile.exists(former) {
            guard constantTimeEquals(try read(former), try read(path)) else {
                throw CommandFailure("\(former) has another key than \(path). Rename it, then run this again.")
            }
        } else if !isDone {
            try write(former) { () throws(SystemError) in
                try Files.create(former, mode: 0o600, like: path, bytes: old)
            }
        }
        try write(path) { () throws(SystemError) in
            if !isDone { try Files.replace(path, mode: 0o600, like: path, bytes: new) }
            try Files.remove(next(path))
        }
    }

    /// A former key that nothing needs opens no longer. It stays on disk, for older backups.
    static func retire(_ former: String) throws(CommandFailure) -> String {
        let unused = "\(former).unused"
        try write(unused) { () throws(SystemError) in try Files.publish(former, at: unused, replacing: true) }
        return unused
    }

    private static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        try translating(try GuardedFile.read(path).bytes(at: path)) { (error: InputFlaw) in
            CommandFailure("The sealing key \(path) \(error.fault)")
        }
    }

    private static func write(_ path: String, _ body: () throws(SystemError) -> Void) throws(CommandFailure) {
        try translating(try body()) { (error: SystemError) in
            CommandFailure("The sealing key \(path) cannot be written: \(error). Run this again as the server's user.")
        }
    }
}
