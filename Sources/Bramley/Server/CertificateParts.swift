internal import Accounts
import Coding
internal import Crypto
internal import Logging
internal import Sockets
internal import Web

// The TLS of visitors' connections.
extension ServerParts {
    /// Nil: visitors' connections are plain.
    static func acceptor(_ configuration: Configuration) throws -> TLSAcceptor? {
        guard let tls = configuration.server.tls else { return nil }
        do throws(TLSConfigurationError) {
            return try TLSAcceptor(
                certificate: tls.certificate, privateKey: Array(tls.privateKey.reveal().utf8))
        } catch {
            throw StartFailure("server.certificateFile and server.privateKeyFile: \(error).")
        }
    }

    static func certificateReload(
        _ configuration: Configuration, _ acceptor: TLSAcceptor?, _ clock: any WallClock, _ logger: Logger
    ) -> CertificateReload? {
        guard let acceptor, let tls = configuration.server.tls else { return nil }
        return CertificateReload(
            tls, host: configuration.web.publicURL.host, isDirect: configuration.server.trustedProxies.isEmpty,
            clock: clock, logger: logger
        ) { try acceptor.replace(certificate: $0, privateKey: $1) }
    }
}
