internal import Coding
internal import HTTP
internal import HTTPTypes
internal import RelyingParty
internal import Sockets
internal import Storage

/// The server on this machine, as its admin listener answers.
struct ServerExamination: Sendable {
    let configuration: Configuration
    let transport: any HTTPTransport

    func run() async -> Diagnosis {
        let admin = configuration.admin
        // What listens on every address answers on this machine's own.
        let host =
            switch admin.host {
            case .v4(0): "127.0.0.1"
            case .v6(0, 0): "::1"
            default: admin.host.description
            }
        let place = "\(host):\(admin.port)"
        let url = ClientURL(isSecure: false, host: host, port: admin.port, target: "/readyz")
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await transport.send(ClientRequest(method: .get, url: url, maximumBodySize: 4096))
        } catch {
            return .wrong(
                .serverNotRunning, "Nobody answers on admin.host and admin.port, \(place): \(error.words).",
                next: "Start bramley serve with this configuration, or run bramley doctor on the machine it runs on.")
        }
        let text = String(decoding: response.body.prefix { $0 != UInt8(ascii: "\n") }.prefix(300), as: UTF8.self)
        guard response.status.code == 200, text.isExactly("ready") else {
            return .wrong(
                .serverNotReady, "The server on \(place) says: \(text) (status \(response.status.code)).",
                next: "Look at the disk of storage.directory, and at the server's log.")
        }
        return .good(.server, "The server on \(place) is ready: it writes to its database.")
    }
}

/// When Apple last told us something.
enum NotificationExamination {
    /// Seconds after which it is worth a look. What is older than 30 days is deleted anyway.
    private static let longAgo: Int64 = 14 * 86_400

    static func run(_ database: Database?, configuration: Configuration, at now: Timestamp) async -> [Diagnosis] {
        guard let database else { return [] }
        let url = configuration.publicURL.notificationURL
        let latest: RecordedNotification?
        do {
            latest = try await database.notifications(outcome: nil, after: nil, limit: 1).items.first
        } catch {
            return [
                .wrong(
                    .databaseUnusable, "The notifications cannot be read: \(error.text).",
                    next: "Look at the disk of storage.directory.")
            ]
        }
        guard let latest else {
            return [
                .unsure(
                    .noNotification, "Apple has told nothing in the last 30 days.",
                    next: "Nobody may have revoked anything. If that is unlikely: in Apple's portal, Identifiers, the "
                        + "primary App ID, Sign in with Apple, the Server-to-Server Notification Endpoint must be \(url). "
                        + "To try it, stop using this site in the settings of an Apple Account.")
            ]
        }
        let age = (now.milliseconds - latest.receivedAt.milliseconds) / 1000
        let detail = "Apple's last notification came \(words(max(0, age))) ago, at \(latest.receivedAt.rfc3339)."
        guard age > longAgo else { return [.good(.lastNotification, detail)] }
        return [
            .unsure(
                .lastNotificationOld, detail,
                next: "If more was to be expected: the endpoint in Apple's portal must still be \(url), and the check "
                    + "of notifications above must be good.")
        ]
    }

    private static func words(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) minutes"
        case ..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }
}
