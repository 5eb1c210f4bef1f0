package import Accounts
internal import Crypto
internal import Sockets

/// Imports lines, one batch per transaction. The same lines again change nothing, so a second run continues the first.
struct ImportRun {
    /// Lines in one transaction: few enough that a concurrent sign-in does not wait long for the lock.
    static let batch = 500

    let context: OperatorDatabase
    let isRehearsal: Bool
    private var report = ImportReport()
    /// The new people and external IDs of a rehearsal's earlier batches, which the database does not contain.
    private var newUsers: [UInt128: (user: UserID, externalID: UInt128?)] = [:]
    private var newOwners: [UInt128: UserID] = [:]
    private var progress: ProgressLine
    private var pending: [(line: Int, entry: Entry)] = []
    private let format: ImportFormat
    private let clientIDs: [String]
    private(set) var advice: ImportAdvice
    private let reader: LineReader

    private enum Entry {
        case person(ImportedPerson)
        case refused(String)
        case other(AppleSubject)
    }

    init(_ file: InputFile, from format: ImportFormat, context: OperatorDatabase, isRehearsal: Bool) {
        self.format = format
        advice = ImportAdvice(format)
        self.context = context
        clientIDs = context.configuration.checkScope.clients.map(\.rawValue)
        self.isRehearsal = isRehearsal
        reader = LineReader(file)
        progress = ProgressLine(total: file.size)
        report.isRehearsal = isRehearsal
    }

    /// Runs to the end of the input, or until the task is cancelled; then an unfinished batch is dropped.
    mutating func run() async throws -> ImportReport {
        do {
            while !Task.isCancelled, let line = try reader.next() {
                read(line)
                if pending.count >= Self.batch { try await write() }
                progress.update(count: report.lines + pending.count, done: reader.bytesRead)
            }
            report.isComplete = !Task.isCancelled
            if report.isComplete { try await write() }
            progress.clear()
            return report
        } catch {
            progress.clear()
            CommandOutput.remark(report.text)
            throw error
        }
    }

    private mutating func read(_ line: LineReader.Line) {
        if line.isBlank { return }
        guard case .text(let bytes) = line else {
            if report.recognised == 0 { advice.inspectLongLine() }
            pending.append((reader.number, .refused("longer than \(LineReader.longestLine) bytes")))
            return
        }
        do throws(InputFlaw) {
            if let parsed = try ImportLine.parse(bytes, from: format, clientIDs: clientIDs) {
                report.recognised += 1
                pending.append((reader.number, .person(person(parsed))))
                for subject in parsed.otherSubjects { pending.append((reader.number, .other(AppleSubject(subject)))) }
                return
            }
            report.withoutApple += 1
        } catch {
            pending.append((reader.number, .refused(error.fault)))
        }
        if report.recognised == 0 { advice.inspect(bytes) }
    }

    private func person(_ line: ImportLine) -> ImportedPerson {
        let credential = line.credential.map { credential in
            let sealing = RefreshToken.sealingContext(
                team: context.team, subject: line.subject, clientID: credential.clientID)
            return ImportedPerson.Credential(
                clientID: credential.clientID,
                sealedRefreshToken: context.keyring.seal(
                    Array(credential.token.value.utf8), purpose: .refreshToken, context: sealing))
        }
        var person = ImportedPerson(newUser: context.identifiers.make(), subject: line.subject)
        person.externalID = line.externalID
        if line.isDisabled { person.state = .disabled }
        person.name = line.name
        person.email = line.email
        person.credential = credential
        return person
    }

    private mutating func write() async throws {
        let batch = pending
        pending.removeAll(keepingCapacity: true)
        let people = batch.compactMap { line in if case .person(let person) = line.entry { person } else { nil } }
        var results: [ImportResult] = []
        if !people.isEmpty {
            results = try await context.database.importPeople(
                people, team: context.team, isRehearsal: isRehearsal, at: context.now)
        }
        // Reported in the order of the lines, whatever the reason of each refusal.
        var next = zip(people, results).makeIterator()
        for (line, entry) in batch {
            switch entry {
            case .refused(let reason): refuse(line, reason)
            case .other(let subject):
                report.otherIdentities += 1
                remark(line, "an additional Apple identity of this person is not imported: \(subject.rawValue)")
            case .person:
                guard let (person, result) = next.next() else { return }
                count(isRehearsal ? rehearse(result, of: person) : result, line: line)
            }
        }
    }

    private mutating func count(_ result: ImportResult, line: Int) {
        switch result {
        case .imported: report.imported += 1
        case .updated: report.updated += 1
        case .unchanged: report.unchanged += 1
        case .refused(.externalIDTaken(let owner)): refuse(line, "externalID belongs to \(owner)")
        case .refused(.otherExternalID(let user)): refuse(line, "\(user) has another externalID")
        case .refused(.beingDeleted):
            refuse(line, "this person was deleted here, and their tokens are being revoked at Apple")
        }
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        report.refused += 1
        remark(line, reason)
    }

    private mutating func remark(_ line: Int, _ text: String) {
        progress.clear()
        CommandOutput.remark("line \(line): \(text)")
    }

    /// 16 bytes of a hash: there may be millions.
    private static func key(_ text: String) -> UInt128 {
        SHA256.hash(utf8: text).bytes[..<16].reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The result if earlier lines had been written. A person who is named again counts as unchanged.
    private mutating func rehearse(_ result: ImportResult, of person: ImportedPerson) -> ImportResult {
        guard case .imported(let user) = result else { return result }
        let (subject, externalID) = (Self.key(person.subject.rawValue), person.externalID.map(Self.key))
        if let known = newUsers[subject] {
            if let externalID, let other = known.externalID, externalID != other {
                return .refused(.otherExternalID(of: known.user))
            }
            return .unchanged(known.user)
        }
        if let externalID, let owner = newOwners[externalID] { return .refused(.externalIDTaken(by: owner)) }
        newUsers[subject] = (user, externalID)
        if let externalID { newOwners[externalID] = user }
        return result
    }
}

/// The results of an import's lines. Blank lines do not count.
package struct ImportReport: Hashable, Sendable {
    package var imported = 0
    package var updated = 0
    package var unchanged = 0
    package var refused = 0
    package var withoutApple = 0
    package var otherIdentities = 0
    /// Lines that named somebody, refused or not.
    package var recognised = 0
    package var isComplete = true
    package var isRehearsal = false

    package var lines: Int { imported + updated + unchanged + refused + withoutApple }

    package var text: String {
        var text =
            "\(lines) lines: \(imported) imported, \(updated) updated, \(unchanged) unchanged, \(refused) refused."
        if withoutApple > 0 { text += " \(withoutApple) have no Apple identity." }
        if otherIdentities > 0 { text += " \(otherIdentities) additional Apple identities were not imported." }
        if isRehearsal { text += " Nothing was written." }
        return text
    }

    package var members: [FieldValue.Member] {
        [
            ("lines", .number(lines)), ("imported", .number(imported)), ("updated", .number(updated)),
            ("unchanged", .number(unchanged)), ("refused", .number(refused)), ("withoutApple", .number(withoutApple)),
            ("dryRun", .flag(isRehearsal)), ("complete", .flag(isComplete)),
        ]
    }
}
