import Coding
import Crypto

// A program on somebody's own machine proves nothing by its client_id: every other one there can send the same. So the
// person confirms each of its requests in the browser, where no program can click (RFC 8252 §8.6).

extension AnswerAddress {
    /// Whether answers go to a program on the visitor's machine, and how: nil for a site.
    package var program: LocalProgram? {
        guard let url = AbsoluteURL(redirectURI) else { return .ownScheme }
        return url.hostAndPort.map { ClientRules.loopbackHosts.contains($0.host.lowercased()) } == true
            ? .loopback : nil
    }
}

/// How a program on the visitor's machine receives answers (RFC 8252 §7).
package enum LocalProgram: Hashable, Sendable {
    case loopback
    case ownScheme
}

extension OpenIDProvider {
    /// How long a person may take to decide, in seconds.
    static let decisionLifetime: Int64 = 600
    private static let longestTicket = 512

    private static func decisionPurpose(_ hour: Int64) -> SealingPurpose { .other("openid-decision/\(hour)") }

    /// For the form in which a person allows this request, in this session.
    func decisionTicket(for request: ValidatedAuthorizeRequest, in session: SessionID, at now: Timestamp) -> String {
        keyring.sealText(
            request.digest.bytes + [UInt8](bigEndian: now.milliseconds) + Array(session.rawValue.utf8), issuedAt: now,
            purpose: Self.decisionPurpose)
    }

    /// Whether this is the ticket of this request and session.
    func allows(
        _ ticket: String?, _ request: ValidatedAuthorizeRequest, in session: SessionID, at now: Timestamp
    ) -> Bool {
        guard let ticket,
            let plain = keyring.openText(ticket, maximumLength: Self.longestTicket, purpose: Self.decisionPurpose),
            plain.count >= 40, constantTimeEquals(Array(plain[..<32]), request.digest.bytes)
        else { return false }
        let shownAt = Timestamp(milliseconds: Int64(bigEndianBytes: plain[32..<40]))
        return now < shownAt.adding(seconds: Self.decisionLifetime) && plain[40...].elementsEqual(session.rawValue.utf8)
    }
}
