import HTTP
import HTTPTypes
import Sockets
import Synchronization

/// A request as the server hands it to a handler.
func serverRequest(
    _ method: HTTPRequest.Method = .get, _ target: String = "/", fields: HTTPFields = HTTPFields()
) -> ServerRequest {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return ServerRequest(
        head: HTTPRequest(method: method, scheme: "http", authority: "h", path: target, headerFields: fields),
        path: parts.first.map(String.init) ?? "", query: parts.count > 1 ? String(parts[1]) : nil, body: [],
        client: .v4(0x7f00_0001), isFromTrustedProxy: false)
}

final class Counter: Sendable {
    private let value = Mutex(0)
    func add() { value.withLock { $0 += 1 } }
    var count: Int { value.withLock { $0 } }
}
