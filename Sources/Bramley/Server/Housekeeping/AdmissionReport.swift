internal import Coding
internal import Logging
internal import Sockets

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
