internal import Accounts
internal import Coding
internal import HTTP
internal import HTTPTypes

/// Clients' metadata documents: one GET, no redirects, nothing compressed (client ID metadata documents §5).
extension WebhookTransport {
    /// From the call to the end of the answer, in milliseconds.
    static let documentTimeout: Int64 = 5_000

    func document(at address: String, within reach: Reach) async -> DocumentAnswer {
        guard let url = ClientURL(address), url.isSecure else { return .refused("invalid address") }
        var get = ClientRequest(
            method: .get, url: url, fields: [.accept: "application/json", .acceptEncoding: "identity"],
            timeout: Self.documentTimeout, maximumBodySize: ClientDocument.maximumSize)
        get.reach = reach
        do throws(HTTPClientError) {
            return Self.answer(try await transport.send(get), at: clock.now())
        } catch {
            switch error {
            case .tooLarge: return .refused("it is longer than \(ClientDocument.maximumSize) bytes")
            case .inside: return .refused("its host has no public address")
            default: return .failed(error.reason)
            }
        }
    }

    static func answer(_ response: ClientResponse, at now: Timestamp) -> DocumentAnswer {
        let status = response.status.code
        guard status == 200 else {
            return status >= 500 || status == 429 ? .failed("status \(status)") : .refused("status \(status)")
        }
        let type = MediaType.essence(of: response.fields) ?? ""
        guard type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json") else {
            return .refused("its type is not JSON")
        }
        guard (response.fields[.contentEncoding] ?? "identity").lowercased() == "identity" else {
            return .refused("it is compressed")
        }
        return .content(response.body, lifetime: lifetime(response.fields, at: now))
    }

    /// RFC 9111 §4.2.1, in seconds; 0 without one.
    private static func lifetime(_ fields: HTTPFields, at now: Timestamp) -> Int64 {
        let directives = fields[values: .cacheControl].joined(separator: ",").lowercased()
            .filter { !" \t\"".contains($0) }.split(separator: ",")
        if directives.contains(where: { ["no-store", "no-cache"].contains($0) }) { return 0 }
        if let directive = directives.first(where: { $0.hasPrefix("max-age=") }) {
            let seconds = Int64(directive.dropFirst(8)) ?? 0
            return max(0, seconds) - max(0, fields[.age].flatMap { Int64($0) } ?? 0)
        }
        return fields[.expires].flatMap { HTTPDate.parse($0, now: now.seconds) }.map { $0 - now.seconds } ?? 0
    }
}
