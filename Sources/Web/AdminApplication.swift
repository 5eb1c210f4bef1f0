package import HTTP
import HTTPTypes
import Instruments

/// What the operator asks on the admin listener: is the process there, and can it do its work.
package final class AdminApplication: RequestHandler {
    /// Why the server is not ready; nil when it is. Probes the database with a write and our own keys.
    package typealias Readiness = @Sendable () async -> String?

    /// The metrics, in Prometheus' text format.
    package typealias Metrics = @Sendable () async -> [UInt8]

    private let router: Router

    package init(readiness: @escaping Readiness, metrics: @escaping Metrics) {
        var router = Router()
        router.add(.get, "/healthz") { _, _ in Self.text(.ok, "ok") }
        router.add(.get, "/readyz") { _, _ in
            guard let problem = await readiness() else { return Self.text(.ok, "ready") }
            return Self.text(.serviceUnavailable, "not ready: \(problem)")
        }
        router.add(.get, "/metrics") { _, _ in
            ServerResponse(
                status: .ok, fields: [.contentType: MetricsText.contentType], body: .bytes(await metrics()))
        }
        self.router = router
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        var response = await router.respond(to: request)
        response.fields[.cacheControl] = "no-store"
        response.fields[.xContentTypeOptions] = "nosniff"
        return response
    }

    private static func text(_ status: HTTPResponse.Status, _ line: String) -> ServerResponse {
        ServerResponse(
            status: status, fields: [.contentType: "text/plain; charset=utf-8"],
            body: .bytes(Array((line + "\n").utf8)))
    }
}
