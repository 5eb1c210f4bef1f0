internal import HTTP
internal import HTTPTypes

/// The plain port: redirects to the same path with TLS, on publicURL's host, whatever host the request names. It serves
/// nothing else.
///
/// 301 for GET and HEAD, which every client knows; 308 for the rest, which keeps the method (RFC 9110 §15.4.9). No
/// Strict-Transport-Security: it would have no effect here (RFC 6797 §7.2).
struct RedirectHandler: RequestHandler {
    /// `https://id.example.com`, with the port if it is not 443.
    let origin: String

    /// Also of the answers that the server sends by itself.
    static let fields: HTTPFields = [
        .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
    ]

    func respond(to request: ServerRequest) async -> ServerResponse {
        // An OPTIONS for the whole server has no path to keep (RFC 9110 §7.1).
        let target = request.head.path.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/"
        var fields = Self.fields
        fields[.location] = origin + target
        // Cached for an hour, so that a change of publicURL takes effect soon.
        fields[.cacheControl] = "max-age=3600"
        fields[.contentType] = "text/plain; charset=utf-8"
        let isRead = request.method == .get || request.method == .head
        return ServerResponse(
            status: isRead ? .movedPermanently : .permanentRedirect, fields: fields,
            body: .bytes(Array("This is at \(origin)\n".utf8)))
    }
}
