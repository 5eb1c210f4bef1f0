internal import HTTP
internal import HTTPTypes

/// What the plain port answers: the same path with TLS, on publicURL's host whatever the request calls the host. It
/// serves nothing else.
///
/// 301 for GET and HEAD, which every client knows; 308 for the rest, which keeps the method (RFC 9110 §15.4.9). No
/// Strict-Transport-Security: it would count for nothing here (RFC 6797 §7.2).
struct RedirectHandler: RequestHandler {
    /// `https://id.example.com`, with the port if it is another than 443.
    let origin: String

    /// Of the answers that the server gives by itself as well.
    static let fields: HTTPFields = [
        .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
    ]

    func respond(to request: ServerRequest) async -> ServerResponse {
        // An OPTIONS for the server as a whole has no path to keep (RFC 9110 §7.1).
        let target = request.head.path.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/"
        var fields = Self.fields
        fields[.location] = origin + target
        // Kept for an hour, so that a change of publicURL is not fought by what browsers remember.
        fields[.cacheControl] = "max-age=3600"
        fields[.contentType] = "text/plain; charset=utf-8"
        let isRead = request.method == .get || request.method == .head
        return ServerResponse(
            status: isRead ? .movedPermanently : .permanentRedirect, fields: fields,
            body: .bytes(Array("This is at \(origin)\n".utf8)))
    }
}
