internal import Accounts
internal import Coding
internal import Sockets

/// Imports the lines of an export made elsewhere: checks all of them, then writes. The same file twice changes nothing.
struct TransferAdoption {
    struct Report: Hashable, Sendable {
        /// The people of the lines, except those who have already moved.
        var people: [TransferSubject] = []
        var lines = 0
        var alreadyMoved = 0
        var refused = 0
        var otherTarget: TeamID?
    }

    private typealias Entry = (number: Int, line: TransferLine)

    private struct Origin: Hashable {
        var team: TeamID
        var subject: AppleSubject
    }

    private let context: OperatorDatabase
    private let skipsRefused: Bool
    private let reader: LineReader
    private var report = Report()
    private var bar: ProgressLine
    private var entries: [Entry] = []
    private var byOrigin: [Origin: Entry] = [:]
    private var byName: [TransferSubject: Entry] = [:]

    /// - Parameter skipsRefused: continues with the other lines, if there are any.
    init(_ file: InputFile, context: OperatorDatabase, skipsRefused: Bool) {
        self.context = context
        self.skipsRefused = skipsRefused
        reader = LineReader(file)
        bar = ProgressLine(total: file.size)
    }

    /// - Throws: `CommandFailure` when the file is refused, so nothing was written, or when a signal comes.
    mutating func run() async throws -> Report {
        defer { bar.clear() }
        var pending: [Entry] = []
        while !Task.isCancelled, let line = try reader.next() {
            bar.update(count: report.lines, done: reader.bytesRead)
            if let entry = read(line) { pending.append(entry) }
            if pending.count == ImportRun.batch { try await adopt(&pending, isRehearsal: true) }
        }
        try await adopt(&pending, isRehearsal: true)
        try checkInterruption()
        try judge()
        // What was checked is now written; people who changed in the meantime are refused.
        let good = entries
        entries = []
        bar.clear()
        bar = ProgressLine(total: good.count)
        for start in stride(from: 0, to: good.count, by: ImportRun.batch) {
            try checkInterruption()
            bar.update(count: start, done: start)
            pending = Array(good[start..<min(start + ImportRun.batch, good.count)])
            try await adopt(&pending, isRehearsal: false)
        }
        try judge()
        return report
    }

    private func checkInterruption() throws(CommandFailure) {
        if Task.isCancelled {
            throw CommandFailure("Interrupted. Nobody was moved; run it again with the same file.")
        }
    }

    private mutating func read(_ line: LineReader.Line) -> Entry? {
        if line.isBlank { return nil }
        report.lines += 1
        do throws(InputFlaw) {
            guard case .text(let bytes) = line else {
                throw InputFlaw("longer than \(LineReader.longestLine) bytes")
            }
            let entry = (number: reader.number, line: try TransferLine(parsing: bytes))
            try check(entry)
            return entry
        } catch {
            refuse(reader.number, error.fault)
            return nil
        }
    }

    private mutating func check(_ entry: Entry) throws(InputFlaw) {
        let line = entry.line
        guard line.recipient == context.team else {
            report.otherTarget = line.recipient
            throw InputFlaw(
                "target is \(line.recipient.rawValue), but this configuration belongs to team \(context.team.rawValue)")
        }
        let origin = Origin(team: line.sender, subject: line.subject)
        let known = [byOrigin[origin], byName[line.transferSubject]].compactMap(\.self)
        if let other = known.first(where: { $0.line != line }) {
            throw InputFlaw("contradicts line \(other.number)")
        }
        byOrigin[origin] = entry
        byName[line.transferSubject] = entry
    }

    private mutating func adopt(_ batch: inout [Entry], isRehearsal: Bool) async throws {
        guard !batch.isEmpty else { return }
        let results = try await context.database.adopt(
            batch.map(\.line), to: context.team, isRehearsal: isRehearsal, at: context.now)
        for (entry, result) in zip(batch, results) {
            switch result {
            case .adopted(let person), .known(let person):
                if isRehearsal { entries.append(entry) } else { report.people.append(person) }
            case .alreadyMoved: if isRehearsal { entries.append(entry) } else { report.alreadyMoved += 1 }
            case .unknownPerson: refuse(entry.number, "no user has this appleSubject in that team")
            case .contradiction:
                refuse(entry.number, "conflicts with another transferSubject or person in the database")
            }
        }
        batch.removeAll(keepingCapacity: true)
    }

    /// A file with one wrong line may be the wrong file.
    private func judge() throws(CommandFailure) {
        guard report.lines > 0 else { throw CommandFailure("The file lists nobody, so nobody was moved.") }
        guard report.refused > 0 else { return }
        let isAll = report.refused == report.lines
        if skipsRefused, !isAll { return }
        var text =
            "\(report.refused) of \(report.lines) lines were refused, each for the reason above. Nobody was moved"
        text += isAll ? "." : "; --skip-refused moves the people on the other lines."
        if let target = report.otherTarget { text += " " + TransferCommand.Import.advice(for: target) }
        throw CommandFailure(text)
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        report.refused += 1
        bar.clear()
        CommandOutput.remark("line \(line): \(reason)")
    }
}

// The lines that go from one team to the other: `{"team","appleSubject","target","transferSubject"}`.
extension TransferLine {
    private static let members = ["team", "appleSubject", "target", "transferSubject"]

    var encoded: [UInt8] {
        var writer = JSONWriter()
        writer.write([
            ("team", .code(sender.rawValue)), ("appleSubject", .code(subject.rawValue)),
            ("target", .code(recipient.rawValue)), ("transferSubject", .code(transferSubject.rawValue)),
        ])
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    init(parsing bytes: [UInt8]) throws(InputFlaw) {
        let object = try LineFields.object(parsing: bytes, depth: 2)
        let fields = try LineFields(object, names: Self.members) { "\($0) is not a known member" }
        func text(_ name: String) throws(InputFlaw) -> String {
            guard let text = fields.object[name]?.stringValue else { throw InputFlaw("\(name) is missing") }
            try LineFields.checkToken(text, name, longest: ImportLine.longestSubject)
            return text
        }
        guard let sender = TeamID(argument: try text("team")) else { throw InputFlaw("team is not a Team ID") }
        guard let recipient = TeamID(argument: try text("target")) else {
            throw InputFlaw("target is not a Team ID")
        }
        guard sender != recipient else { throw InputFlaw("team and target are the same") }
        self.init(
            sender: sender, subject: AppleSubject(try text("appleSubject")), recipient: recipient,
            transferSubject: TransferSubject(try text("transferSubject")))
    }
}
