internal import Accounts
internal import AppleID
internal import HTTP
internal import HTTPTypes
internal import Sockets
internal import Web

// The configuration as settings of the modules.
extension Configuration {
    func appleID() throws(AppleConfigurationError) -> AppleConfiguration {
        try AppleConfiguration(
            servicesID: apple.servicesID, bundleIDs: apple.bundleIDs, teamID: apple.teamID, keyID: apple.keyID,
            privateKeyPEM: apple.privateKeyPEM, next: apple.nextKey.map { ($0.keyID, $0.privateKeyPEM) },
            issuers: apple.issuers, endpoint: apple.endpoint, redirectURI: web.publicURL.callbackURL,
            scopes: apple.scopes)
    }

    /// - Parameter refusalFields: for answers that the server sends without a handler.
    /// - Parameter tls: nil for a plain listener.
    /// - Parameter memory: nil for its own. What peers make us keep is counted once for all ports.
    func http(refusalFields: HTTPFields, tls: TLSAcceptor?, memory: MemoryBudget? = nil) -> HTTPServerConfiguration {
        HTTPServerConfiguration(
            limits: server.limits.wire, timeouts: server.limits.timeouts,
            trustedProxies: TrustedProxies(server.trustedProxies), proxyProtocol: server.proxyProtocol,
            refusalFields: refusalFields, tls: tls,
            memory: memory ?? MemoryBudget(bytes: max(MemoryBudget.standard, 8 * server.limits.wire.body)))
    }
}
