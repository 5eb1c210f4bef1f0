import Coding
import HTTPTypes

/// Lets pages of other origins read answers (CORS, Fetch Standard §3.2).
struct CrossOrigin: Sendable {
    enum Readers: Sendable {
        case own
        /// Pages of `api.allowedOrigins`, with the visitor's cookie: who is signed in, plainly (`GET /api/v1/session`) or
        /// as an assertion (`GET /api/v1/session/assertion`). Requests that change something stay same-origin.
        case allowed
        /// Pages of every origin, without the visitor's cookie: public keys, and the OpenID endpoints for
        /// applications without a server.
        case everyone
    }

    /// Exact origins, as a browser writes them in `Origin`.
    let allowedOrigins: [String]

    /// Adds the fields by which the asking page may read the answer, and `Vary` for caches, to every answer.
    func add(to response: inout HTTPFields, for request: HTTPFields, _ readers: Readers) {
        if readers == .everyone {
            response[.accessControlAllowOrigin] = "*"
            response[.crossOriginResourcePolicy] = "cross-origin"
            // The challenge tells the token's holder what is wrong.
            if response.contains(.wwwAuthenticate) { response[.accessControlExposeHeaders] = "WWW-Authenticate" }
        }
        guard readers == .allowed, !allowedOrigins.isEmpty else { return }
        response[.vary] = "Origin"
        guard let origin = allowedOrigin(request) else { return }
        response[.accessControlAllowOrigin] = origin
        response[.accessControlAllowCredentials] = "true"
        // For pages that ask without CORS this says same-origin; these have asked with it.
        response[.crossOriginResourcePolicy] = "cross-origin"
    }

    /// The same for OPTIONS; for a preflight, also the route's methods. A visitor's credentials are only for reading.
    func addPreflight(to response: inout HTTPFields, for request: HTTPFields, _ readers: Readers, methods: String) {
        add(to: &response, for: request, readers)
        guard response[.accessControlAllowOrigin] != nil, request[.accessControlRequestMethod] != nil else { return }
        response[.accessControlAllowMethods] = readers == .allowed ? "GET, HEAD" : methods
        // What a page's script may add: an app's own credential, and what fetch wrappers and agents add.
        response[.accessControlAllowHeaders] =
            "Authorization, Content-Type, X-Requested-With"
            + (readers == .everyone ? ", MCP-Protocol-Version" : "")
        response[.accessControlMaxAge] = "600"
        response[.vary] = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    }

    private func allowedOrigin(_ request: HTTPFields) -> String? {
        let origins = request[values: .origin]
        guard origins.count == 1 else { return nil }
        return allowedOrigins.first { $0.isExactly(origins[0]) }
    }
}
