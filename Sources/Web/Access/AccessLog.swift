import Coding
import Crypto
package import HTTP
import HTTPTypes
package import Logging

/// One line for each request of visitors, proxies, apps and Apple: how it was answered, and nothing it held.
///
/// The path stands there as the route's pattern, since a path may hold an id and a query a state or a code. What proxies
/// ask for every request of theirs, and the files of pages, are `debug`: they would bury the rest.
package struct AccessLog: Sendable {
    private static let message: Logger.Message = "request"

    private let settings: WebConfiguration.AccessLog
    private let logger: Logger

    package init(_ settings: WebConfiguration.AccessLog, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// What a line says of who asked.
    package var clients: ClientDetail { settings.clients }

    /// Whether answers of the fast path have lines. Asked once for each loop, so that without them a request costs nothing.
    package var hasFrequentLines: Bool { settings.requests == .all && logger.logLevel <= .debug }

    /// - Parameters:
    ///   - pattern: of the route; nil when there is none.
    ///   - isFrequent: whether good answers of the route are many and tell little.
    ///   - milliseconds: until the answer was made; it may still be on its way.
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
        // Nobody knows before it is sent.
        case .stream: break
        }
        if let client = settings.clients.text(of: request.client) { metadata[LogKey.client] = "\(client)" }
        logger.log(level: level, Self.message, metadata: metadata)
    }

    /// An answer of the fast path to `GET /auth/verify`. Call it only while `hasFrequentLines`.
    /// - Parameter client: as `clients` says it of the peer of the socket: whom a proxy names has not been looked at.
    package func recordFastAnswer(client: String?) {
        var metadata: Logger.Metadata = [
            LogKey.method: "GET", LogKey.status: "204", LogKey.route: "\(VerifyRoute.pattern)", LogKey.bytes: "0",
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

    /// A method nobody knows is a text of the peer's choice.
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
        /// Which requests have a line.
        package enum Requests: String, Sendable, CaseIterable {
            case all
            /// Answers from 400 on.
            case failures
            case none
        }

        package var requests: Requests
        /// What a line says of who asked.
        package var clients: ClientDetail

        package init(requests: Requests = .all, clients: ClientDetail = .network) {
            self.requests = requests
            self.clients = clients
        }
    }
}

/// Gives each request its id.
struct RequestIDs: Sendable {
    private let random: BufferedRandom

    init(random: any RandomSource) {
        self.random = BufferedRandom(random)
    }

    /// What a trusted proxy calls it, else a new one.
    func id(of request: ServerRequest) -> RequestID {
        RequestID(named: request) ?? RequestID(UInt64(bigEndianBytes: random.bytes(8)))
    }
}
