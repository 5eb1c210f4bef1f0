package import HTTP
import HTTPTypes
package import Logging

/// Logs one line for each request of visitors, proxies, apps and Apple: how it was answered, without its content.
///
/// The path is logged as the route's pattern, since a path may contain an id and a query a state or a code. Proxies'
/// requests and the files of pages are `debug`: they would bury the rest.
package struct AccessLog: Sendable {
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

    /// `pattern` is the route's. `milliseconds` is the time until the answer was made.
    func record(
        _ request: ServerRequest, _ response: ServerResponse, pattern: String?, isFrequent: Bool, id: RequestID,
        milliseconds: Int64
    ) {
        let status = Int(response.status.code)
        let level: Logger.Level = isFrequent && status < 500 ? .debug : .info
        let isWanted = settings.requests == .all || settings.requests == .failures && status >= 400
        guard isWanted, logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            LogKey.method: "\(Self.known(request.method))", LogKey.status: .stringConvertible(status),
            LogKey.requestID: "\(id)",
            LogKey.milliseconds: .stringConvertible(milliseconds), LogKey.protocolVersion: "\(request.version.text)",
        ]
        if let pattern { metadata[LogKey.route] = "\(pattern)" }
        switch response.body {
        case .none: metadata[LogKey.bytes] = .stringConvertible(0)
        case .bytes(let bytes): metadata[LogKey.bytes] = .stringConvertible(request.method == .head ? 0 : bytes.count)
        // Its length is unknown until it is sent.
        case .stream: break
        }
        if let client = settings.clients.text(of: request.client) { metadata[LogKey.client] = "\(client)" }
        logger.log(level: level, "request", metadata: metadata)
    }

    /// Logs a fast answer to `GET /auth/verify`, while `hasFrequentLines`. `client` is the socket's peer, in the detail
    /// of `clients`.
    package func recordFastAnswer(client: String?) {
        var metadata: Logger.Metadata = [
            LogKey.method: "GET", LogKey.status: .stringConvertible(204), LogKey.route: "\(WebRoutes.verifyPattern)",
            LogKey.bytes: .stringConvertible(0),
            LogKey.milliseconds: .stringConvertible(0),
        ]
        if let client { metadata[LogKey.client] = "\(client)" }
        logger.log(level: .debug, "request", metadata: metadata)
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
