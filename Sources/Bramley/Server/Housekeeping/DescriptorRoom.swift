internal import Coding
internal import Logging
internal import Sockets

/// Reserves some of the process's file descriptors for the operator's listener, Apple and the database. Otherwise, with
/// a limit below `server.limits.connections`, the last to connect would fail, and that may be the probe that decides
/// whether the server is restarted.
struct DescriptorRoom {
    /// Spare descriptors besides the connections: with this many, none run out.
    private static let ample = 512

    private let wanted: Int
    private let logger: Logger
    /// The last reported limit on connections; nil while there are enough.
    private var told: Int?

    /// - Parameter wanted: `server.limits.connections`.
    init(wanted: Int, logger: Logger) {
        self.wanted = wanted
        self.logger = logger
    }

    /// Raises the limit to what the service manager allows; a shell's soft limit is often a thousand, and its hard
    /// limit a million.
    func prepare() {
        ProcessUsage.raiseDescriptorLimit(to: wanted + Self.ample)
    }

    /// - Parameter others: connections that are not visitors'.
    mutating func check(at admission: AdmissionControl, beside others: Int) {
        let limit = ProcessUsage.descriptorLimit ?? .max
        // Counting takes time, and with so many it is unnecessary.
        let open = limit < wanted + Self.ample ? ProcessUsage.openDescriptorCount ?? 0 : 0
        check(limit: limit, own: max(0, open - admission.total - others), admission)
    }

    /// - Parameters:
    ///   - limit: descriptors the process may have.
    ///   - own: those that are not a peer's connection.
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

    /// The number of connections: what the server's own files leave, minus a reserve for those it opens now and then.
    static func room(limit: Int, own: Int) -> Int {
        max(1, limit - own - max(12, min(64, limit / 16)))
    }
}

/// Logs connections that were not kept, which visitors see as "cannot connect".
///
/// At once for the first, then at most once a minute with the numbers since the previous line, so that an attack does
/// not fill the log.
struct AdmissionReport {
    /// Between two lines, in milliseconds.
    static let pause: Int64 = 60_000

    private var told = AdmissionTally()
    private let throttle = LogThrottle(interval: Self.pause)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    mutating func check(at tally: AdmissionTally, now: Deadline) {
        guard tally != told, throttle.count(at: now.nanoseconds / 1_000_000) != nil else { return }
        logger.warning(
            "connections closed: limit reached",
            metadata: [
                "limits.connections": "\(tally.refused - told.refused)",
                "limits.connectionsPerAddress": "\(tally.refusedByAddress - told.refusedByAddress)",
                "descriptors": "\(tally.withoutDescriptor - told.withoutDescriptor)",
                "idle": "\(tally.shed - told.shed)",
            ])
        told = tally
    }
}
