package import Coding
package import HTTP
import HTTPTypes

package struct HealthCheck: Hashable, Sendable {
    package var name: String
    /// What is wrong with it, in a few words without secrets; nil when it works.
    package var problem: String?
    /// What the operator should fix although the server works, written like `problem`.
    package var warning: String?
    /// Only in JSON, for `bramley doctor`: when Apple last accepted and last refused each client and key.
    package var keys: [JSONObject]?

    package init(_ name: String, problem: String? = nil, warning: String? = nil, keys: [JSONObject]? = nil) {
        self.name = name
        self.problem = problem
        self.warning = warning
        self.keys = keys
    }
}

/// Answers the operator on the admin listener: is the process alive, and can it do its work.
package final class AdminApplication: RequestHandler {
    /// The checks and their results. Never asks Apple: a server that cannot reach Apple still serves all sessions.
    package typealias Examination = @Sendable () async -> [HealthCheck]

    /// The metrics, in Prometheus' text format.
    package typealias Metrics = @Sendable () async -> [UInt8]

    /// Proves to the sender of this pass that the server holds the sealing key; nil for any other text.
    package typealias Proof = @Sendable (_ pass: String) -> String?

    private let router: Router
    private let proof: Proof

    /// `liveness` are problems that only a restart fixes; `readiness` keep the server from answering, and probe the
    /// database with a write. By `proof`, `bramley doctor` tells this server from others on the port.
    package init(
        liveness: @escaping Examination, readiness: @escaping Examination, metrics: @escaping Metrics,
        proof: @escaping Proof = { _ in nil }
    ) {
        self.proof = proof
        var router = Router()
        router.add(.get, "/healthz") { request, _ in
            Self.answer(await liveness(), good: "ok", bad: "not alive", to: request)
        }
        router.add(.get, "/readyz") { request, _ in
            Self.answer(await readiness(), good: "ready", bad: "not ready", to: request)
        }
        router.add(.get, "/metrics") { _, _ in
            ServerResponse(status: .ok, fields: [.contentType: MetricsText.contentType], body: .bytes(await metrics()))
        }
        self.router = router
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        var response = await router.respond(to: request)
        response.fields[.cacheControl] = "no-store"
        response.fields[.xContentTypeOptions] = "nosniff"
        let passes = request.fields[values: Inspection.field]
        if passes.count == 1, let proof = proof(passes[0]) { response.fields[Inspection.field] = proof }
        return response
    }

    /// The verdict, followed by a line for each check; as JSON for clients that ask for it.
    private static func answer(
        _ checks: [HealthCheck], good: String, bad: String, to request: ServerRequest
    ) -> ServerResponse {
        let problems = checks.compactMap(\.problem)
        let status: HTTPResponse.Status = problems.isEmpty ? .ok : .serviceUnavailable
        if MediaType.accepts(request.fields, "application/json") {
            let list = checks.map { check in
                var members: [(String, JSONValue)] = [
                    ("name", .string(check.name)), ("ok", .bool(check.problem == nil)),
                    ("problem", check.problem.map { .string($0) } ?? .null),
                    ("warning", check.warning.map { .string($0) } ?? .null),
                ]
                if let keys = check.keys { members.append(("keys", .array(keys.map { .object($0) }))) }
                return JSONValue.object(JSONObject(members))
            }
            let document: JSONObject = ["status": .string(problems.isEmpty ? good : bad), "checks": .array(list)]
            return response(status, "application/json", JSONWriter.encode(document))
        }
        let verdict = problems.isEmpty ? good : "\(bad): \(problems.joined(separator: "; "))"
        let lines =
            [verdict]
            + checks.map { check in
                "\(check.name): \(check.problem ?? check.warning.map { "warning: \($0)" } ?? "ok")"
            }
        return response(status, "text/plain; charset=utf-8", Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    private static func response(_ status: HTTPResponse.Status, _ type: String, _ bytes: [UInt8]) -> ServerResponse {
        ServerResponse(status: status, fields: [.contentType: type], body: .bytes(bytes))
    }
}

extension MediaType {
    /// Whether a client names this type with a quality above 0; accepting everything does not count.
    fileprivate static func accepts(_ fields: HTTPFields, _ type: String) -> Bool {
        fields[values: .accept].flatMap { $0.split(separator: ",") }.contains { range in
            let parts = range.split(separator: ";").map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            return parts.first == type && !parts.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil }
        }
    }
}
