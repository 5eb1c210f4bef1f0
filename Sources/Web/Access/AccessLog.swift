import Coding
import Crypto
package import HTTP
import HTTPTypes
package import Logging

/// Logs one line for each request of visitors, proxies, apps and Apple: how it was answered, and nothing of its
/// content.
///
/// The path is logged as the route's pattern, since a path may contain an id and a query a state or a code. Proxies'
/// requests and the files of pages are `debug`: they would bury the rest.
package struct AccessLog: Sendable {
    private static let message: Logger.Message = "request"

    private let settings: WebConfiguration.AccessLog
    private let logger: Logger

    package init(_ settings: WebConfiguration.AccessLog, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// How much of the client's address lines contain.
    package var clients: ClientDetail { settings.clients }

    /// Whether answers of the fast path are logged. Read once per loop, so that otherwise a request costs nothing.
    package var hasFrequentLines: Bool { settings.requests == .all && logger.logLevel <= .debug }

    /// - Parameters:
    ///   - pattern: of the route; nil when there is none.
    ///   - isFrequent: whether good answers of the route are many and tell little.
    ///   - milliseconds: until the answer was made; it may not have been sent yet.
    func record(
        _ request: ServerRequest, _ response: ServerResponse, pattern: String?, isFrequent: Bool, id: RequestID,
        milliseconds: Int64
    ) {
        let status = Int(response.status.code)
        let level: Logger.Level = isFrequent && status < 500 ? .debug : .info
        guard isWanted(status: status), logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            LogKey.method: "\(Self.known(request.method))", LogKey.status: "\(status)", LogKey.requestID: "\(id)",
            LogKey.milliseconds: "\(milliseconds)", LogKey.protocolVersion: "\(request.version.text)",
        ]
        if let pattern { metadata[LogKey.route] = "\(pattern)" }
        switch response.body {
        case .none: metadata[LogKey.bytes] = "0"
        case .bytes(let bytes): metadata[LogKey.bytes] = request.method == .head ? "0" : "\(bytes.count)"
        // Unknown until it is sent.
        case .stream: break
        }
        if let client = settings.clients.text(of: request.client) { metadata[LogKey.client] = "\(client)" }
        logger.log(level: level, Self.message, metadata: metadata)
    }

    /// Logs an answer of the fast path to `GET /auth/verify`. Call it only while `hasFrequentLines`.
    /// - Parameter client: the peer of the socket in the detail of `clients`; addresses named by a proxy have not been
    ///   read.
    package func recordFastAnswer(client: String?) {
        var metadata: Logger.Metadata = [
            LogKey.method: "GET", LogKey.status: "204", LogKey.route: "\(WebRoutes.verifyPattern)", LogKey.bytes: "0",
            LogKey.milliseconds: "0",
        ]
        if let client { metadata[LogKey.client] = "\(client)" }
        logger.log(level: .debug, Self.message, metadata: metadata)
    }

    private func isWanted(status: Int) -> Bool {
        switch settings.requests {
        case .all: true
        case .failures: status >= 400
        case .none: false
        }
    }

    /// An unknown method is a text of the peer's choice.
    private static func known(_ method: HTTPRequest.Method) -> String {
        switch method {
        case .get, .head, .post, .put, .delete, .options, .patch, .trace, .connect: method.rawValue
        default: "other"
        }
    }
}

extension WebConfiguration {
    /// `log.requests` and `log.clients`.
    package struct AccessLog: Hashable, Sendable {
        /// Which requests are logged.
        package enum Requests: String, Sendable, CaseIterable {
            case all
            /// Answers from 400 on.
            case failures
            case none
        }

        package var requests = Requests.all
        /// How much of the client's address a line contains.
        package var clients = ClientDetail.network
    }
}
