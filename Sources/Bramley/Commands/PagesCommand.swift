import ArgumentParser
internal import FoundationEssentials
internal import Public
internal import Sockets

struct PagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pages", abstract: "Customize pages.", subcommands: [Export.self])

    struct Export: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all templates, texts and assets to a directory for pages.directory.")

        @Argument(help: ArgumentHelp("The directory; created if missing.", valueName: "dir")) var directory: String
        @Flag(help: "Replace existing files.") var force = false

        func perform() async throws {
            let count = try Self.write(EmbeddedFiles.all, to: directory, replacing: force)
            try CommandOutput.line(
                """
                Wrote \(count) files to \(LogEscaping.escaped(directory)).
                Keep only the files you change; they override Bramley's own, even after an update.
                """)
        }
    }
}

extension PagesCommand.Export {
    /// Files are readable by everyone and writable by their owner (0644, folders 0755): visitors see their content.
    static func write(_ files: [String: [UInt8]], to directory: String, replacing: Bool) throws(CommandFailure) -> Int {
        let manager = FileManager.default
        let places = files.sorted { $0.key < $1.key }.map { (path: "\(directory)/\($0.key)", bytes: $0.value) }
        if !replacing {
            let present = places.map(\.path).filter { isThere($0) }
            guard present.isEmpty else {
                let more = present.count > 3 ? " and \(present.count - 3) more" : ""
                throw CommandFailure(
                    """
                    \(present.prefix(3).joined(separator: ", "))\(more) already \
                    \(present.count == 1 ? "exists" : "exist"). Nothing was written. Choose another directory, or pass \
                    --force to replace existing files.
                    """)
            }
        }
        for folder in Set(files.keys.map { String($0.prefix { $0 != "/" }) }).sorted() {
            let path = "\(directory)/\(folder)"
            do {
                try manager.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            } catch {
                throw unwritable(path, "the folder cannot be created")
            }
        }
        for place in places {
            do {
                if replacing, isThere(place.path) { try manager.removeItem(atPath: place.path) }
                try Files.create(place.path, mode: 0o644, bytes: place.bytes)
            } catch {
                throw unwritable(place.path, "\(error)")
            }
        }
        return places.count
    }

    private static func unwritable(_ path: String, _ cause: String) -> CommandFailure {
        CommandFailure("\(path) cannot be written: \(cause). Choose a directory that you can write to.")
    }

    /// Includes symbolic links, wherever they lead.
    private static func isThere(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)) != nil
    }
}
