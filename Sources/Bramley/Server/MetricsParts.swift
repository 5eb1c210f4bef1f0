internal import Accounts
internal import AppleID
import Coding
internal import HTTP
internal import Sockets
internal import Storage
internal import Web

// The sources of the metrics.
extension ServerParts {
    static func metricsPage(
        _ configuration: Configuration, requests: RequestMetrics, admission: AdmissionControl,
        acceptor: TLSAcceptor?, certificate: CertificateReload?, signIn: SignIn, notifications: Notifications,
        provider: AppleIdentityProvider, database: Database, readiness: @escaping AdminApplication.Examination,
        clock: any WallClock, lostLogLines: @escaping @Sendable () -> Int
    ) -> MetricsPage {
        let scope = configuration.database.checkScope
        let counts = CountsCache {
            let now = clock.now()
            guard let counts = try? await database.counts(scope, at: now) else { return nil }
            return CountsCache.Counted(counts: counts, at: now)
        }
        return MetricsPage(
            requests: requests, admission: admission, acceptor: acceptor,
            certificateEnd: { certificate?.notAfter }, signIns: signIn.metrics,
            notifications: notifications.metrics, calls: provider.calls, database: database, counts: counts,
            path: configuration.storage.postgres == nil ? Store.path(in: configuration.storage.directory) : nil,
            isReady: { await readiness().allSatisfy { $0.problem == nil } }, lostLogLines: lostLogLines,
            clock: clock, startedAt: clock.now())
    }
}
