internal import Coding
internal import HTTP
internal import Sockets
internal import Web

/// The synchronous answer to `/auth/verify`, for the HTTP server.
final class VerifyResponder: ImmediateResponder {
    private let fastPath: VerifyFastPath
    private let trustedProxies: TrustedProxies
    private let loop: EventLoop
    private let metrics: ImmediateMetrics
    /// Nil when such frequent answers are not logged.
    private let log: AccessLog?

    init(
        _ fastPath: VerifyFastPath, trustedProxies: TrustedProxies, on loop: EventLoop, metrics: ImmediateMetrics,
        log: AccessLog
    ) {
        self.fastPath = fastPath
        self.trustedProxies = trustedProxies
        self.loop = loop
        self.metrics = metrics
        self.log = log.hasFrequentLines ? log : nil
    }

    func respond(
        to head: borrowing RequestHead, in bytes: Span<UInt8>, peer: IPAddress, now: Int64, date: [UInt8],
        into output: inout [UInt8]
    ) -> Bool {
        let isAnswered = fastPath.answer(
            head: head, bytes: bytes, peerIsTrusted: trustedProxies.contains(peer.normalized),
            now: Timestamp(milliseconds: now), date: date, into: &output)
        guard isAnswered else { return false }
        metrics.count(since: loop.now)
        if let log { log.recordFastAnswer(client: log.clients.text(of: peer.normalized)) }
        return true
    }
}
