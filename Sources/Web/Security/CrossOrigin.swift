import Coding
import HTTPTypes

/// Lets pages of other origins read answers (CORS, Fetch Standard §3.2).
struct CrossOrigin: Sendable {
    enum Readers: Sendable {
        /// Our own pages.
        case own
        /// Pages of `api.allowedOrigins`, with the visitor's cookie: who is signed in, plainly (`GET /api/v1/session`) or
        /// as an assertion (`GET /api/v1/session/assertion`). Requests that change something stay same-origin.
        case allowed
        /// Pages of every origin, without the visitor's cookie: public keys, and what programs without a server of their
        /// own ask of the OpenID provider.
        case everyone
    }

    /// Exact origins, as a browser writes them in `Origin`.
    let allowedOrigins: [String]

    private static let methods = "GET, HEAD"
    /// Fields that a page's script may add: an app's own credential, and those that fetch wrappers add by themselves.
    private static let fields = "Authorization, Content-Type, X-Requested-With"
    /// How long a browser may cache a preflight, in seconds.
    private static let maximumAge = "600"

    /// Adds the fields that let the asking page read the answer; none for other origins. `Vary` is on every answer of
    /// such a route, so that caches do not mix them up.
    func add(to response: inout HTTPFields, for request: HTTPFields, _ readers: Readers) {
        if case .everyone = readers {
            response[.accessControlAllowOrigin] = "*"
            response[.crossOriginResourcePolicy] = "cross-origin"
            // What a token's holder is told in the challenge.
            if response.contains(.wwwAuthenticate) { response[.accessControlExposeHeaders] = "WWW-Authenticate" }
        }
        guard case .allowed = readers, !allowedOrigins.isEmpty else { return }
        response[.vary] = "Origin"
        guard let origin = allowedOrigin(request) else { return }
        response[.accessControlAllowOrigin] = origin
        response[.accessControlAllowCredentials] = "true"
        // For pages that ask without CORS this says same-origin; these have asked with it.
        response[.crossOriginResourcePolicy] = "cross-origin"
    }

    /// The same for the answer to an OPTIONS; for a preflight, also what may be sent.
    /// - Parameter methods: those of the route; credentials of the visitor are only for reading.
    func addPreflight(to response: inout HTTPFields, for request: HTTPFields, _ readers: Readers, methods: String) {
        add(to: &response, for: request, readers)
        guard response[.accessControlAllowOrigin] != nil, request[.accessControlRequestMethod] != nil else { return }
        if case .allowed = readers {
            response[.accessControlAllowMethods] = Self.methods
        } else {
            response[.accessControlAllowMethods] = methods
        }
        response[.accessControlAllowHeaders] = Self.fields
        response[.accessControlMaxAge] = Self.maximumAge
        response[.vary] = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    }

    private func allowedOrigin(_ request: HTTPFields) -> String? {
        let origins = request[values: .origin]
        guard origins.count == 1 else { return nil }
        return allowedOrigins.first { $0.isExactly(origins[0]) }
    }
}
