internal import COpenSSL
internal import Coding
internal import Synchronization

/// What a listener's handshakes use: a certificate that can be replaced while connections are open, and ticket keys,
/// which outlive it. Also counts handshakes.
///
/// Replacing is one assignment under a mutex. A handshake takes its reference there once, and its `SSL` keeps the
/// `SSL_CTX` it was made from (OpenSSL counts references atomically), so it ends with the certificate it began with.
/// The old context is freed with its last connection.
package final class TLSAcceptor: Sendable {
    private let current: Mutex<TLSContext>
    private let protocols: [ApplicationProtocol]
    package let ticketKeys: TicketKeys
    private let completed = CounterGrid<Outcome, TLSVersion>()
    private let failed = Counter()

    /// - Parameters:
    ///   - certificate: PEM, the server's own first, then the chain. Surrounding text is ignored.
    ///   - privateKey: PEM, not encrypted. The caller may wipe its bytes afterwards.
    ///   - protocols: offered in the handshake, the preferred first.
    ///   - random: returns the requested number of unpredictable bytes, for ticket keys.
    ///   - clock: determines the age of ticket keys.
    package init(
        certificate: [UInt8], privateKey: [UInt8], protocols: [ApplicationProtocol] = [.http2, .http1],
        random: @escaping @Sendable (Int) -> [UInt8] = TLSAcceptor.systemRandom,
        clock: @escaping @Sendable () -> Deadline = { Deadline.now }
    ) throws(TLSConfigurationError) {
        let ticketKeys = TicketKeys(random: random, clock: clock)
        let context = try TLSContext.server(
            certificate: certificate, privateKey: privateKey, protocols: protocols, ticketKeys: ticketKeys)
        self.ticketKeys = ticketKeys
        self.protocols = protocols
        current = Mutex(context)
    }

    package var context: TLSContext { current.withLock { $0 } }

    /// Serves another certificate from the next handshake on. All or nothing: when it throws, the old one stays. Open
    /// connections are not affected, and earlier tickets still resume.
    package func replace(certificate: [UInt8], privateKey: [UInt8]) throws(TLSConfigurationError) {
        let context = try TLSContext.server(
            certificate: certificate, privateKey: privateKey, protocols: protocols, ticketKeys: ticketKeys)
        current.withLock { $0 = context }
    }

    // MARK: Counting

    package enum Outcome: Sendable, CaseIterable {
        case full
        /// By a ticket, without a signature.
        case resumed
        case failed
    }

    /// For code that makes handshakes with it, on any loop.
    /// - Parameter version: the negotiated version; nil when the handshake failed.
    package func count(_ outcome: Outcome, _ version: TLSVersion?) {
        if outcome == .failed { failed.increment() } else { completed.increment(outcome, version ?? .tls13) }
    }

    /// Handshakes of one version with this outcome since the start, on all loops. 0 for failed ones.
    package func handshakes(_ outcome: Outcome, _ version: TLSVersion) -> Int { completed[outcome, version] }

    /// Handshakes with this outcome since the start, on all loops.
    package func handshakes(_ outcome: Outcome) -> Int {
        outcome == .failed ? failed.value : TLSVersion.allCases.reduce(0) { $0 + completed[outcome, $1] }
    }

    /// OpenSSL's generator, seeded by the kernel; empty when it fails, and then no tickets are issued.
    package static let systemRandom: @Sendable (Int) -> [UInt8] = { count in
        // Invariant: RAND_priv_bytes fills the whole buffer or fails.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = unsafe RAND_priv_bytes(buffer.baseAddress, Int32(count)) == 1 ? count : 0
        }
    }
}

/// A supported version of TLS, by its number on the wire.
package enum TLSVersion: Int32, Sendable, CaseIterable {
    case tls12 = 0x0303
    case tls13 = 0x0304
}
