internal import RelyingParty
internal import Sockets
internal import Storage

/// Takes over the lines of an export made elsewhere, a batch in a transaction. The same file twice changes nothing.
struct TransferAdoption {
    struct Report: Hashable, Sendable {
        var adopted = 0
        var known = 0
        var alreadyMoved = 0
        var refused = 0
        var isComplete = true
    }

    private let place: OperatorDatabase
    private let reader: LineReader
    private var report = Report()
    private var pending: [(number: Int, line: TransferLine)] = []

    init(_ file: InputFile, place: OperatorDatabase) {
        self.place = place
        reader = LineReader(file)
    }

    mutating func run() async throws -> Report {
        do {
            while !Task.isCancelled, let line = try reader.next() {
                read(line)
                if pending.count == ImportRun.batch { try await write() }
            }
        } catch let error as SystemError {
            throw CommandFailure("The input cannot be read: \(error).")
        }
        report.isComplete = !Task.isCancelled
        if report.isComplete { try await write() }
        return report
    }

    private mutating func read(_ line: LineReader.Line) {
        do throws(ImportLineError) {
            guard case .text(let bytes) = line else {
                throw ImportLineError("longer than \(LineReader.longestLine) bytes")
            }
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
            pending.append((reader.number, try TransferLine(parsing: bytes, for: place.team)))
        } catch {
            refuse(reader.number, error.description)
        }
    }

    private mutating func write() async throws {
        let batch = pending
        pending.removeAll(keepingCapacity: true)
        guard !batch.isEmpty else { return }
        let results = try await place.database.adopt(batch.map(\.line), to: place.team, at: place.now)
        for ((number, _), result) in zip(batch, results) {
            switch result {
            case .adopted: report.adopted += 1
            case .known: report.known += 1
            case .alreadyMoved: report.alreadyMoved += 1
            case .unknownPerson: refuse(number, "nobody here has this appleSubject of that team")
            case .contradiction: refuse(number, "another transferSubject, or another person, is known here for it")
            }
        }
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        report.refused += 1
        CommandOutput.remark("line \(line): \(reason)")
    }
}
