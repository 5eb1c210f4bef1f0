import HTTP
import Testing
import Web

@testable import Bramley

/// Who is told to do what, by who holds the certificate. The words of OpenSSL come from real servers in the tests of the
/// command.
@Suite struct TLSExaminationTests {
    static let failures: [(HTTPClientError, Finding)] = [
        (.tls("certificate: certificate has expired"), .tlsExpired), (.tls("certificate: hostname mismatch"), .tlsName),
        (.tls("certificate: certificate is not yet valid"), .tlsUntrusted),
        (.tls("certificate: self-signed certificate in certificate chain"), .tlsUntrusted),
        (.tls("unsupported protocol"), .tlsVersion), (.tls("wrong version number"), .tlsFailed),
        (.tls("connection reset by peer"), .tlsFailed), (.malformed("status line"), .publicURLElsewhere),
        (.unknownHost("id.example.com"), .publicURLUnreachable), (.connect("refused"), .publicURLUnreachable),
        (.timeout, .publicURLUnreachable),
    ]

    @Test(arguments: failures)
    func proxyIsMentionedOnlyIfThereIsOne(failure: HTTPClientError, finding: Finding) throws {
        let url = try #require(PublicURL("https://id.example.com:8443"))
        for holdsCertificate in [false, true] {
            let diagnosis = Doctor.unreachable(url, failure, holdsCertificate: holdsCertificate)
            #expect(diagnosis.finding == finding)
            let next = try #require(diagnosis.nextStep)
            #expect(!next.isEmpty)
            if holdsCertificate { #expect(!next.contains("proxy"), "\(next)") }
            // A clock, and a name in DNS, have nothing to do with who holds it.
            if !holdsCertificate, !next.contains("clock") { #expect(next.contains("proxy"), "\(next)") }
        }
    }
}
