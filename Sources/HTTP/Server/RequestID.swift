package import HTTPTypes

/// Identifies the log lines and the answer of one request: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`, which need no
/// escaping in a log line, a field or a document.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    package static let maximumCount = 128

    /// The field in which a proxy names it, and every answer has it.
    package static let field = KnownField.xRequestID.name

    /// That of the current task's request; nil outside of requests.
    @TaskLocal package static var current: RequestID?

    package let text: String

    package var description: String { text }

    package init?(_ text: String) {
        guard (1...Self.maximumCount).contains(text.utf8.count), text.utf8.allSatisfy(Self.isSafe) else { return nil }
        self.text = text
    }

    /// - Parameter number: unpredictable, so that nobody can guess the next one.
    package init(_ number: UInt64) {
        let digits = String(number, radix: 16)
        text = String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// A trusted proxy's name for the request; nil when the peer is not trusted, or names two or an invalid one.
    package init?(named request: ServerRequest) {
        guard request.isFromTrustedProxy else { return nil }
        let values = request.fields[values: Self.field]
        guard values.count == 1 else { return nil }
        self.init(values[0])
    }

    private static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x5F, 0x3A, 0x2D: true
        default: false
        }
    }
}
