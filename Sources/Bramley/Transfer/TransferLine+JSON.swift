internal import Accounts
internal import Coding

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
        let object = try LineFields.object(parsing: bytes, depth: 2)
        let fields = try LineFields(object, names: Self.members) { "\($0) is not a member of a transfer" }
        func text(_ name: String) throws(ImportLineError) -> String {
            guard let text = fields.object[name]?.stringValue else { throw ImportLineError("\(name) is missing") }
            try LineFields.checkToken(text, name, longest: ImportLine.longestSubject)
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
}
