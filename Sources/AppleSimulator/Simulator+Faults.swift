import HTTP
import HTTPTypes
import Synchronization

extension Simulator {
    func answer(_ request: ServerRequest, endpoint: Endpoint, fault: Fault?) async -> ServerResponse {
        guard let fault else { return await endpointAnswer(request, endpoint: endpoint) }
        if fault.delay > 0 { await pause(fault.delay) }
        if fault.hangs { await hold() }
        if fault.requiresUserAgent, (request.fields[.userAgent] ?? "").isEmpty {
            return .html("<html><body><h1>403 Forbidden</h1></body></html>", status: .forbidden)
        }
        var response =
            if let replacement = replacement(for: fault) {
                replacement
            } else {
                await endpointAnswer(request, endpoint: endpoint)
            }
        if let type = fault.contentType { response.fields[.contentType] = type }
        return broken(response, by: fault)
    }

    /// The answer that replaces the endpoint's; the request then has no effect. Nil: the endpoint answers itself.
    private func replacement(for fault: Fault) -> ServerResponse? {
        if let error = fault.error { return .oauthError(OAuthError(code: error, reason: "fault"), describes: false) }
        guard fault.status != nil || fault.body != nil else { return nil }
        let status = HTTPResponse.Status(code: fault.status ?? 200)
        switch fault.body ?? .html {
        case .html:
            return .html(
                "<html><head><title>Apple</title></head><body>Service unavailable</body></html>", status: status)
        case .garbage:
            return .file(
                Array("{\"keys\":[{\"kty\":,\"id_token\":\u{1}".utf8), type: "application/json", status: status)
        case .empty: return ServerResponse(status: status, body: .bytes([]))
        case .text(let text): return .file(Array(text.utf8), type: "application/json", status: status)
        case .huge(let count):
            return ServerResponse(
                status: status, fields: [.contentType: "application/json"],
                body: .stream { try await Self.fill($0, count) })
        }
    }

    /// `{"filler":"aaaa…"}` of `count` bytes: valid JSON, only far too much of it.
    private static func fill(_ writer: BodyWriter, _ count: Int) async throws {
        let start = Array("{\"filler\":\"".utf8)
        let end = Array("\"}".utf8)
        let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536)
        try await writer.write(start)
        var left = max(0, count - start.count - end.count)
        while left > 0 {
            try await writer.write(left >= chunk.count ? chunk : Array(chunk.prefix(left)))
            left -= chunk.count
        }
        try await writer.write(end)
    }

    private func broken(_ response: ServerResponse, by fault: Fault) -> ServerResponse {
        guard fault.close != nil || fault.stalls, case .bytes(let bytes) = response.body else { return response }
        let sent = fault.close == .start ? [] : Array(bytes.prefix(bytes.count / 2))
        let rest = Array(bytes.dropFirst(sent.count))
        let isClosed = fault.close != nil
        var response = response
        response.body = .stream { writer in
            if !sent.isEmpty { try await writer.write(sent) }
            // The server then drops the connection.
            if isClosed { throw CancellationError() }
            await self.hold()
            try await writer.write(rest)
        }
        return response
    }

    // MARK: Hanging requests

    /// Waits until hanging requests are released or the connection's task is cancelled.
    private func hold() async {
        let (release, continuation) = AsyncStream.makeStream(of: Never.self)
        _ = held.withLock { $0.insert(continuation) }
        // Nothing comes: it ends with the stream, or with the task.
        for await _ in release {}
        _ = held.withLock { $0.remove(continuation) }
    }

    func releaseHeld() {
        let released = held.withLock { held in
            defer { held = [] }
            return held
        }
        for continuation in released { continuation.finish() }
    }
}
