internal import Accounts
internal import Coding
internal import Sockets

// The lines that go from one team to the other: `{"team","appleSubject","target","transferSubject"}`.
extension TransferLine {
    private static let members = ["team", "appleSubject", "target", "transferSubject"]

    /// With its line end.
    var encoded: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("team", sender.rawValue)
        writer.member("appleSubject", subject.rawValue)
        writer.member("target", recipient.rawValue)
        writer.member("transferSubject", transferSubject.rawValue)
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    init(parsing bytes: [UInt8]) throws(ImportLineError) {
        let value: JSONValue
        do {
            value = try JSONReader.parse(
                bytes, limits: JSONLimits(maximumBytes: LineReader.longestLine, maximumDepth: 2))
        } catch {
            throw ImportLineError("no JSON: \(error.reason) at byte \(error.offset + 1)")
        }
        guard let object = value.objectValue else { throw ImportLineError("no JSON object") }
        let unknown = object.members.first { member in !Self.members.contains { $0.isExactly(member.name) } }
        if let unknown { throw ImportLineError("\(unknown.name.quoted) is not a member of a transfer") }
        func text(_ name: String) throws(ImportLineError) -> String {
            guard let text = object[name]?.stringValue else { throw ImportLineError("\(name) is missing") }
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            guard !text.isEmpty, text.utf8.count <= ImportLine.longestSubject, isPlain else {
                throw ImportLineError(
                    "\(name) is not 1 to \(ImportLine.longestSubject) printable ASCII characters without blanks")
            }
            return text
        }
        guard let sender = TeamID(argument: try text("team")) else { throw ImportLineError("team is not a Team ID") }
        guard let recipient = TeamID(argument: try text("target")) else {
            throw ImportLineError("target is not a Team ID")
        }
        guard sender != recipient else { throw ImportLineError("team and target are the same") }
        self.init(
            sender: sender, subject: AppleSubject(try text("appleSubject")), recipient: recipient,
            transferSubject: TransferSubject(try text("transferSubject")))
    }

    /// The file of an import.
    static func open(_ path: String) throws(CommandFailure) -> InputFile {
        do {
            let file = path == "-" ? try InputFile.standardInput() : try InputFile(path: path)
            if let mode = file.mode, mode & 0o022 != 0 {
                CommandOutput.remark(
                    "warning: \(path) can be changed by others, who could move people to the wrong account: run "
                        + "chmod 600 \(path).")
            }
            return file
        } catch {
            throw CommandFailure("\(path) cannot be read: \(error).")
        }
    }

    /// Takes the place of what is there, for its owner alone.
    static func save(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        do {
            try Files.replace(path, mode: 0o600, bytes: bytes)
        } catch {
            throw CommandFailure("\(path) cannot be written: \(error).")
        }
    }
}
