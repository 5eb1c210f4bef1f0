internal import Coding
internal import Sockets
internal import Web

extension Doctor {
    /// Assigned to nobody (RFC 5737).
    static let forgedAddress = "192.0.2.123"
    /// Fewer requests say nothing about where visitors come from.
    private static let enoughRequests: Int64 = 20
    /// More than one person makes while trying things out.
    private static let manyRequests: Int64 = 200

    /// - Parameter forged: of a request that claimed to come from `forgedAddress`; nil without an answer.
    func proxy(_ report: InspectionReport, forged: InspectionReport?) -> [Diagnosis] {
        let url = configuration.web.publicURL
        // With its own TLS, or the PROXY protocol of a TCP load balancer, Bramley needs no fields to identify visitors.
        let isDirect = configuration.server.tls != nil || configuration.server.proxyProtocol
        guard url.isSecure && !isDirect || report.isFromTrustedProxy || !report.forwardedFor.isEmpty else {
            return [.good(.proxy, "There is no proxy in between.")]
        }
        guard report.isFromTrustedProxy else {
            return [
                .wrong(
                    .proxyUntrusted,
                    "Requests come from a proxy at \(report.client) that is not in server.trustedProxies, so all "
                        + "visitors share its address and one rate limit.",
                    next: surroundings.trust(report.client)),
                traffic(report),
            ]
        }
        let found = [address(report, forged), host(report)].compactMap(\.self)
        let good = Diagnosis.good(
            .proxy, "The proxy is trusted, and says that this request came from \(report.client).")
        return (found.isEmpty ? [good] : found) + [traffic(report)]
    }

    private func address(_ report: InspectionReport, _ forged: InspectionReport?) -> Diagnosis? {
        guard !report.forwardedFor.isEmpty else {
            return .wrong(
                .forwardedForMissing,
                "The proxy does not send the client's address, so all visitors share its own address and one rate "
                    + "limit.",
                next: "Make it set X-Forwarded-For; nginx: proxy_set_header X-Forwarded-For $remote_addr;")
        }
        let hops = (forged?.forwardedFor ?? []).flatMap { $0.split(separator: ",") }
        guard let last = hops.last, String(last.filter { $0 != " " }).isExactly(Self.forgedAddress) else { return nil }
        return .wrong(
            .forwardedForForgeable,
            "The proxy passes on the client's X-Forwarded-For, so anybody can claim any address.",
            next: "Make it set the field or append to it; nginx: proxy_set_header X-Forwarded-For $remote_addr;")
    }

    private func host(_ report: InspectionReport) -> Diagnosis? {
        let authority = configuration.web.publicURL.authority
        guard let seen = report.forwardedHost.last ?? report.host, !seen.lowercased().isExactly(authority) else {
            return nil
        }
        return .unsure(
            .hostChanged, "The proxy sends the host \(seen), but publicURL has \(authority).",
            next: "Make it pass on the host; nginx: proxy_set_header Host $http_host; Sign-in works without it, but "
                + "oauth2-proxy's addresses cannot return to a path.")
    }

    private func traffic(_ report: InspectionReport) -> Diagnosis {
        let traffic = report.traffic
        guard traffic.requests >= Self.enoughRequests, let only = traffic.onlyAddress else {
            return .good(.traffic, "\(traffic.requests) requests for sign-in pages in the last hour or two.")
        }
        let detail = "All \(traffic.requests) requests for sign-in pages in the last hour or two came from \(only)."
        // Visitors cannot be told apart from the proxy: this is the consequence.
        if only.isExactly(report.client), !report.isFromTrustedProxy || report.forwardedFor.isEmpty {
            return .wrong(
                .oneAddress, detail + " That is the proxy's own address: everybody shares one rate limit.",
                next: report.isFromTrustedProxy
                    ? "Make the proxy set X-Forwarded-For. The count starts again with the server."
                    : "Add the proxy to server.trustedProxies, make it set X-Forwarded-For, and restart bramley serve.")
        }
        let next =
            "If that is a load balancer or CDN in front of the proxy, make the proxy read the client's address from it "
            + "(nginx: set_real_ip_from and real_ip_header), or add both to server.trustedProxies and make the proxy "
            + "append to X-Forwarded-For."
        guard IPAddress(only)?.isPublic == true else {
            return .wrong(
                .oneAddress, detail + " That is not a visitor's address.", next: next + surroundings.source)
        }
        guard traffic.requests >= Self.manyRequests else { return .good(.traffic, detail) }
        return .unsure(.oneAddress, detail, next: next)
    }
}
