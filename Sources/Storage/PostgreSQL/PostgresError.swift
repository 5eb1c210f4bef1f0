struct PostgresError: Error, Hashable, EngineError {
    /// The SQLSTATE (PostgreSQL, appendix A); nil when the connection failed, empty for what we refuse ourselves.
    let state: String?
    /// PostgreSQL's or libpq's own text, in one line. It may name tables, columns and hosts, but contains no value.
    let message: String

    init(state: String? = nil, message: String) {
        self.state = state
        self.message = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// Of an attempt to connect, by libpq's verbose text: `… FATAL:  3D000: database "x" does not exist`, one such line for
    /// each server that was tried. It has a state when all of them refused permanently: waiting does not help.
    init(connecting text: String) {
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        let attempts = lines.filter { $0.contains("connection to server") }.count
        let states = lines.compactMap { line in
            line.split(separator: ":").map { $0.drop { $0 == " " } }.first(where: Self.isState).map { String($0) }
        }
        let isFinal = !states.isEmpty && states.count >= attempts && states.allSatisfy(Self.isFinal)
        let message = states.reduce(lines.joined(separator: " ")) { $0.replacing("\($1): ", with: "") }
        self.init(state: isFinal ? states.last : nil, message: message)
    }

    private static func isState(_ text: Substring) -> Bool {
        text.count == 5 && text.contains { $0.isNumber } && text.allSatisfy { $0.isNumber || $0.isUppercase }
    }

    /// No such database or role, a wrong password, no right to connect.
    private static func isFinal(_ state: String) -> Bool {
        state.hasPrefix("28") || state == "3D000" || state == "42501"
    }

    static let closed = PostgresError(message: "the database is closed")

    static let pooled = PostgresError(
        state: "",
        message: "a pooler such as pgbouncer answers instead; connect to PostgreSQL itself: each server needs ten "
            + "connections")

    /// Handled like a shutdown: the next connection may find the right server.
    static let replaced = PostgresError(
        state: "57P04", message: "this server lacks the last poll: another one has replaced it as the primary")

    static func isUnusable(_ state: String) -> Bool {
        // Shut down, read-only, or not (any more) the primary: the next connection may find another server.
        state.hasPrefix("57P") || state == "25006" || state.hasPrefix("08")
    }

    /// transaction_resolution_unknown; PostgreSQL itself does not use it.
    static let unknown = "08007"

    fileprivate var detail: String { (state ?? "").isEmpty ? message : "\(state ?? "") \(message)" }

    var isOutcomeUnknown: Bool { state == Self.unknown }
    var isRefusal: Bool { state != nil && !mayRerun && !isOutcomeUnknown }

    var mayRerun: Bool {
        guard let state else { return true }
        // Also a serialization failure, a deadlock, and a transaction that was idle for too long.
        return Self.isUnusable(state) && !isOutcomeUnknown || ["40001", "40P01", "25P03"].contains(state)
    }

    var storeError: StoreError {
        guard let state else { return .unavailable(detail) }
        switch state {
        case "55P03", "40001", "40P01": return .busy(detail)
        case "XX001", "XX002": return .corrupt(detail)
        // Connection, resources, the operator's intervention, a system error, a statement that took too long.
        case _ where Self.isFinal(state): return .unavailable(detail)
        case _ where ["08", "53", "57", "58"].contains(state.prefix(2)) || state == "25006" || state == "25P03":
            return .unavailable(detail)
        default: return .inconsistent(detail)
        }
    }

    func openError(_ location: String) -> StorageOpenError {
        switch storeError {
        case .busy: .locked(location)
        case .corrupt(let detail): .failed(location, detail: detail)
        case .unavailable(let detail), .inconsistent(let detail): .unusable(location, detail: detail)
        }
    }
}
