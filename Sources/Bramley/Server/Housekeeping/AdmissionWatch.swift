internal import Coding
internal import Logging
internal import Sockets

/// Reserves file descriptors for the operator's listener, Apple and the database. Otherwise the last to connect would
/// fail, and that may be the probe that decides whether the server is restarted. Logs connections that were not kept.
struct AdmissionWatch {
    /// Spare descriptors besides the connections: with this many, none run out.
    private static let ample = 512
    /// Between two lines about connections that were not kept, in milliseconds.
    static let pause: Int64 = 60_000

    private let wanted: Int
    private let logger: Logger
    /// The last reported limit of descriptors; nil while there are enough.
    private var reportedLimit: Int?
    private var reported = AdmissionTally()
    private let throttle = LogThrottle(interval: Self.pause)

    init(wanted: Int, logger: Logger) {
        self.wanted = wanted
        self.logger = logger
    }

    /// Raises the soft limit, often a thousand, towards the hard one, often a million.
    func prepare() { ProcessUsage.raiseDescriptorLimit(to: wanted + Self.ample) }

    /// - Parameter others: connections that are not visitors'.
    mutating func check(at admission: AdmissionControl, beside others: Int) {
        let limit = ProcessUsage.descriptorLimit ?? .max
        // Counting takes time, and with so many it is unnecessary.
        let open = limit < wanted + Self.ample ? ProcessUsage.openDescriptorCount ?? 0 : 0
        check(limit: limit, own: max(0, open - admission.total - others), admission)
    }

    /// - Parameter own: descriptors that are not a peer's connection.
    mutating func check(limit: Int, own: Int, _ admission: AdmissionControl) {
        let room = Self.room(limit: limit, own: own)
        guard limit < wanted + Self.ample, room < wanted else {
            admission.setRoom(.max)
            if reportedLimit != nil {
                logger.notice("full connection limit restored", metadata: ["descriptors": .stringConvertible(limit)])
            }
            reportedLimit = nil
            return
        }
        admission.setRoom(room)
        if reportedLimit != limit {
            logger.warning(
                "file descriptor limit too low for server.limits.connections",
                metadata: [
                    "descriptors": .stringConvertible(limit), "connections": .stringConvertible(room),
                    "do": "raise LimitNOFILE of the service (ulimit -n) to \(wanted + Self.ample)",
                ])
        }
        reportedLimit = limit
    }

    /// The number of connections: what the server's own files leave, minus a reserve for those it opens now and then.
    static func room(limit: Int, own: Int) -> Int { max(1, limit - own - max(12, min(64, limit / 16))) }

    /// Logs the first at once, then once a minute, so that an attack does not fill the log.
    mutating func report(_ tally: AdmissionTally, now: Deadline) {
        guard tally != reported, throttle.count(at: now.nanoseconds / 1_000_000) != nil else { return }
        logger.warning(
            "connections closed: limit reached",
            metadata: [
                "limits.connections": .stringConvertible(tally.refused - reported.refused),
                "limits.connectionsPerAddress": .stringConvertible(tally.refusedByAddress - reported.refusedByAddress),
                "descriptors": .stringConvertible(tally.withoutDescriptor - reported.withoutDescriptor),
                "idle": .stringConvertible(tally.shed - reported.shed),
            ])
        reported = tally
    }
}
