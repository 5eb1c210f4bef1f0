import Accounts
import Coding
import Crypto
import HTTP
package import HTTPTypes
import Synchronization

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
            cookies: cookies.probes.map(\.name).filter {
                Cookies.read($0, in: request.fields) == .one(Self.probeValue)
            },
            fields: fields.map { InspectionReport.Field(name: $0.name.canonicalName, value: $0.value) },
            traffic: traffic.summary)
        return ServerResponse(status: .ok, fields: fields, body: .bytes(report.json))
    }

    /// Of the cookies that represent ours on their way through the proxy: same prefix, same attributes, no meaning.
    static let probeValue = "doctor"

    /// What a browser would send back of the answer's cookies.
    package static func cookieField(of configuration: WebConfiguration) -> String {
        Cookies(configuration).probes.map { "\($0.name)=\(probeValue)" }.joined(separator: "; ")
    }

    /// The names of those cookies.
    package static func cookieNames(of configuration: WebConfiguration) -> [String] {
        Cookies(configuration).probes.map(\.name)
    }
}

/// How a request of `bramley doctor` arrived, as this server saw it.
package struct InspectionReport: Hashable, Sendable {
    /// The clients of the sign-in pages in this hour and the previous one.
    package struct Traffic: Hashable, Sendable {
        package var requests: Int64
        /// Nil when there were several, or none.
        package var onlyAddress: String?

        package init(requests: Int64, onlyAddress: String?) {
            self.requests = requests
            self.onlyAddress = onlyAddress
        }
    }

    /// A field of the answer as it left this server.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package var method: String
    /// As it arrived, including the base path.
    package var path: String
    /// Bytes.
    package var content: Int64
    package var host: String?
    package var client: String
    package var isFromTrustedProxy: Bool
    /// Every `X-Forwarded-For` field, in order.
    package var forwardedFor: [String]
    /// Every `X-Forwarded-Host` field.
    package var forwardedHost: [String]
    /// The probe cookies that arrived exactly once and unchanged.
    package var cookies: [String]
    package var fields: [Field]
    package var traffic: Traffic
}

extension InspectionReport {
    package var json: [UInt8] {
        func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        let fields = fields.map { JSONValue.array([.string($0.name), .string($0.value)]) }
        return JSONWriter.encode(
            JSONObject([
                ("method", .string(method)), ("path", .string(path)), ("content", .integer(content)),
                ("host", optional(host)), ("client", .string(client)),
                ("isFromTrustedProxy", .bool(isFromTrustedProxy)),
                ("forwardedFor", .texts(forwardedFor)), ("forwardedHost", .texts(forwardedHost)),
                ("cookies", .texts(cookies)), ("fields", .array(fields)), ("requests", .integer(traffic.requests)),
                ("onlyAddress", optional(traffic.onlyAddress)),
            ]))
    }

    /// Parses the output of `json`; nil for anything else, such as another server's answer.
    package init?(parsing bytes: [UInt8]) {
        guard let object = (try? JSONReader.parse(bytes))?.objectValue,
            let method = object["method"]?.stringValue, let path = object["path"]?.stringValue,
            let content = object["content"]?.int64Value, let client = object["client"]?.stringValue,
            let isFromTrustedProxy = object["isFromTrustedProxy"]?.boolValue,
            let forwardedFor = object["forwardedFor"]?.textsValue,
            let forwardedHost = object["forwardedHost"]?.textsValue, let cookies = object["cookies"]?.textsValue,
            let pairs = object["fields"]?.arrayValue, let requests = object["requests"]?.int64Value
        else { return nil }
        var fields: [Field] = []
        for pair in pairs {
            guard let parts = pair.textsValue, parts.count == 2 else { return nil }
            fields.append(Field(name: parts[0], value: parts[1]))
        }
        self.init(
            method: method, path: path, content: content, host: object["host"]?.stringValue, client: client,
            isFromTrustedProxy: isFromTrustedProxy, forwardedFor: forwardedFor, forwardedHost: forwardedHost,
            cookies: cookies, fields: fields,
            traffic: Traffic(requests: requests, onlyAddress: object["onlyAddress"]?.stringValue))
    }
}

/// Whether one or several addresses request the sign-in pages: a proxy that hides its visitors makes them one, and they
/// share one rate limit. Remembers the present hour and the previous one, and one address of each.
final class TrafficSources: Sendable {
    private static let period: Int64 = 3600

    private struct Hour {
        var number: Int64
        var requests = 0
        var first: String?
        var hasOthers = false
    }

    private struct State {
        var current = Hour(number: .min)
        var previous = Hour(number: .min)

        mutating func advance(to number: Int64) {
            guard number != current.number else { return }
            // A clock that goes back, or leaps, starts anew.
            previous = number == current.number &+ 1 ? current : Hour(number: number &- 1)
            current = Hour(number: number)
        }
    }

    private let clock: any WallClock
    private let state = Mutex(State())

    init(clock: any WallClock) { self.clock = clock }

    /// - Parameter client: its address as text.
    func record(_ client: String) {
        let number = clock.now().seconds / Self.period
        state.withLock { state in
            state.advance(to: number)
            state.current.requests += 1
            if let first = state.current.first {
                if first != client { state.current.hasOthers = true }
            } else {
                state.current.first = client
            }
        }
    }

    /// Of this hour and the previous one.
    var summary: InspectionReport.Traffic {
        let number = clock.now().seconds / Self.period
        return state.withLock { state in
            state.advance(to: number)
            let hours = [state.current, state.previous]
            let addresses = Set(hours.compactMap(\.first))
            let isOne = addresses.count == 1 && !hours.contains(where: \.hasOthers)
            return InspectionReport.Traffic(
                requests: Int64(hours.reduce(0) { $0 + $1.requests }), onlyAddress: isOne ? addresses.first : nil)
        }
    }
}
