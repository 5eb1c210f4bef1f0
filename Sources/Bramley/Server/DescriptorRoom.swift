internal import Logging
internal import Sockets

/// Keeps some of the process's file descriptors from visitors: for the operator's listener, Apple and the database. A
/// limit lower than `server.limits.connections` would otherwise be found by whoever comes last, and that is the probe
/// that decides whether the server is to be restarted.
struct DescriptorRoom {
    /// Descriptors there should be beside the connections: this many are never missed.
    private static let ample = 512

    private let wanted: Int
    private let logger: Logger
    /// As many as there may be of connections, as it was told last; nil while there may be all that are wanted.
    private var told: Int?

    /// - Parameter wanted: `server.limits.connections`.
    init(wanted: Int, logger: Logger) {
        self.wanted = wanted
        self.logger = logger
    }

    /// Takes what the service manager allows; a shell's soft limit is often a thousand, and its hard limit a million.
    func prepare() {
        ProcessUsage.raiseDescriptorLimit(to: wanted + Self.ample)
    }

    /// - Parameter others: connections that are not of visitors.
    mutating func check(at admission: AdmissionControl, beside others: Int) {
        let limit = ProcessUsage.descriptorLimit ?? .max
        // Counting them takes time, and with so many there is nothing to count.
        let open = limit < wanted + Self.ample ? ProcessUsage.openDescriptorCount ?? 0 : 0
        check(limit: limit, own: max(0, open - admission.total - others), admission)
    }

    /// - Parameters:
    ///   - limit: descriptors the process may have.
    ///   - own: those that are no connection of somebody else's.
    mutating func check(limit: Int, own: Int, _ admission: AdmissionControl) {
        let room = Self.room(limit: limit, own: own)
        guard limit < wanted + Self.ample, room < wanted else {
            admission.setRoom(.max)
            if told != nil {
                logger.notice(
                    "full connection limit restored", metadata: ["descriptors": "\(limit)"])
            }
            told = nil
            return
        }
        admission.setRoom(room)
        if told != limit {
            logger.warning(
                "file descriptor limit too low for server.limits.connections",
                metadata: [
                    "descriptors": "\(limit)", "connections": "\(room)",
                    "do": "raise LimitNOFILE of the service (ulimit -n) to \(wanted + Self.ample)",
                ])
        }
        told = limit
    }

    /// How many connections there may be: what is left by the server's own files, less a reserve for those it opens now
    /// and then.
    static func room(limit: Int, own: Int) -> Int {
        max(1, limit - own - max(12, min(64, limit / 16)))
    }
}
