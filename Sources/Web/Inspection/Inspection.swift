import Accounts
import Coding
import Crypto
import HTTP
package import HTTPTypes

/// Answers a request with an `InspectionPass` by how it arrived, whatever its path, so that `bramley doctor` sees what
/// happens to callbacks, cookies and forwarded fields on the way from the public address. Such a request has no other
/// effect.
package struct Inspection: Sendable {
    /// The field that carries the pass.
    package static let field = HTTPField.Name("Bramley-Doctor") ?? .via

    let keyring: SealingKeyring
    let cookies: Cookies
    let policy: ContentSecurityPolicy
    let traffic: TrafficSources
    let clock: any WallClock

    /// Nil for every request without a valid pass, which is then handled normally.
    func answer(_ request: ServerRequest) -> ServerResponse? {
        let passes = request.fields[values: Self.field]
        guard passes.count == 1, InspectionPass.isValid(passes[0], with: keyring, at: clock.now()) else { return nil }
        var fields: HTTPFields = [.contentType: "application/json"]
        SecurityHeaders.add(to: &fields, policy: policy.nothing, isSecure: policy.isSecure, referrer: .sameOrigin)
        for cookie in cookies.probes { fields.append(HTTPField(name: .setCookie, value: cookie.setting)) }
        let report = InspectionReport(
            method: request.method.rawValue, path: request.path, content: Int64(request.body.count),
            host: request.head.authority, client: "\(request.client)",
            isFromTrustedProxy: request.isFromTrustedProxy,
            forwardedFor: request.fields[values: KnownField.xForwardedFor.name],
            forwardedHost: request.fields[values: KnownField.xForwardedHost.name],
            cookies: cookies.probes.filter { $0.arrived(in: request.fields) }.map(\.name),
            fields: fields.map { InspectionReport.Field(name: $0.name.canonicalName, value: $0.value) },
            traffic: traffic.summary)
        return ServerResponse(status: .ok, fields: fields, body: .bytes(report.json))
    }
}

/// A cookie that represents one of ours on its way through the proxy: same prefix, same attributes, no meaning.
package struct ProbeCookie: Sendable {
    package static let value = "doctor"

    package let name: String
    /// `Set-Cookie`.
    let setting: String

    func arrived(in fields: HTTPFields) -> Bool {
        Cookies.read(name, in: fields) == .one(Self.value)
    }
}

extension Inspection {
    /// What a browser would send back of the answer's cookies.
    package static func cookieField(of configuration: WebConfiguration) -> String {
        Cookies(configuration).probes.map { "\($0.name)=\(ProbeCookie.value)" }.joined(separator: "; ")
    }

    /// The names of those cookies.
    package static func cookieNames(of configuration: WebConfiguration) -> [String] {
        Cookies(configuration).probes.map(\.name)
    }
}
