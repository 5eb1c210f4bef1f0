internal import Accounts
internal import AppleID
internal import Coding
internal import HTTP
internal import Sockets
internal import Storage
internal import Web

struct MetricsPage: Sendable {
    let base: ServerBase
    let requests: RequestMetrics
    let admission: AdmissionControl
    let acceptor: TLSAcceptor?
    let certificate: CertificateReload?
    let signIns: CounterGrid<SignInFlow, SignInEnd>
    let notifications: CounterGrid<NotificationMetrics.Kind, NotificationMetrics.End>
    let calls: AppleCallMetrics
    let counts: CountsCache
    let readiness: Readiness
    let lostLogLines: @Sendable () -> Int
    let startedAt: Timestamp

    func render() async -> [UInt8] {
        let isReady = await readiness.examine().allSatisfy { $0.problem == nil }
        let reading = MetricsReading(page: self, isReady: isReady, counted: await counts.current())
        var text = MetricsText()
        for metric in Metric.groups.flatMap(\.metrics) {
            text.begin(metric.family)
            metric.write(reading, metric.family, &text)
        }
        return text.finish()
    }
}

struct MetricsReading: Sendable {
    let page: MetricsPage
    let isReady: Bool
    let counted: CountsCache.Counted?
    let usage = ProcessUsage.now

    var counts: StoreCounts? { counted?.counts }
    var store: Store { page.base.database.store }

    /// In seconds; 0 where there is none, nil where it is unknown.
    func age(_ since: KeyPath<StoreCounts, Timestamp?>) -> Double? {
        counts.map { age(of: $0[keyPath: since]) ?? 0 }
    }

    func age(of since: Timestamp?) -> Double? {
        since.map { max(0, Double(page.base.runtime.clock.now().milliseconds - $0.milliseconds) / 1000) }
    }
}
