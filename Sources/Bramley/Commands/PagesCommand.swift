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

        @Argument(help: ArgumentHelp("The directory; created if missing.", valueName: "dir"))
        var directory: String

        @Flag(help: "Replace existing files.")
        var force = false

        func perform() async throws {
            let count = try Self.write(EmbeddedFiles.all, to: directory, replacing: force)
            try CommandOutput.line(
                """
                \(count) files are in \(LogEscaping.escaped(directory)).
                Keep those you change and remove the others: what is there no longer follows an update.
                """)
        }
    }
}

extension PagesCommand.Export {
    /// Files are readable by everyone and writable by their owner (0644, folders 0755, minus umask): every visitor sees
    /// their content.
    /// - Returns: how many files were written.
    static func write(
        _ files: [String: [UInt8]], to directory: String, replacing: Bool
    ) throws(CommandFailure) -> Int {
        let manager = FileManager.default
        let places = files.sorted { $0.key < $1.key }.map { (path: "\(directory)/\($0.key)", bytes: $0.value) }
        if !replacing {
            let present = places.map(\.path).filter { isThere($0) }
            guard present.isEmpty else {
                let more = present.count > 3 ? " and \(present.count - 3) more" : ""
                throw CommandFailure(
                    """
                    \(present.prefix(3).joined(separator: ", "))\(more) \(present.count == 1 ? "is" : "are") there \
                    already, and nothing was written. Name another directory, or replace them with --force.
                    """)
            }
        }
        let folders = Set(files.keys.map { String($0.prefix { $0 != "/" }) })
        for folder in folders.sorted() {
            let path = "\(directory)/\(folder)"
            do {
                try manager.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            } catch {
                throw unwritable(path, "the folder cannot be made")
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
        CommandFailure("\(path) cannot be written: \(cause). Name a directory of your own.")
    }

    /// Includes symbolic links, wherever they lead.
    private static func isThere(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)) != nil
    }
}
