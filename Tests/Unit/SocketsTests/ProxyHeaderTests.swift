import Sockets
import Testing

/// The PROXY protocol's headers as bytes: HAProxy's proxy-protocol.txt, §2.1 and §2.2.
@Suite struct ProxyHeaderTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var source: ProxyHeader.Source
        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], _ source: ProxyHeader.Source) {
            self.name = name
            self.bytes = bytes
            self.source = source
        }

        init(line: String, _ source: ProxyHeader.Source) {
            self.init(line, Array((line + "\r\n").utf8), source)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var error: ProxyHeaderError
        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], _ error: ProxyHeaderError) {
            self.name = name
            self.bytes = bytes
            self.error = error
        }
    }

    private static func client(_ ip: String, _ port: UInt16) -> ProxyHeader.Source {
        .client(SocketAddress(ip: IPAddress(ip) ?? .v4(0), port: port))
    }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
    /// 203.0.113.7:56324 to 192.0.2.1:443.
    private static let v4: [UInt8] = [203, 0, 113, 7, 192, 0, 2, 1, 0xdc, 0x04, 0x01, 0xbb]
    /// [2001:db8::7]:56324 to [2001:db8::1]:443.
    private static let v6: [UInt8] =
        [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]
        + [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] + [0xdc, 0x04, 0x01, 0xbb]
    private static let unix = [UInt8](repeating: 0x2f, count: 216)

    private static func binary(
        _ command: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? rest.count
        return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xff)] + rest
    }

    private static func field(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        [type, UInt8(value.count >> 8), UInt8(value.count & 0xff)] + value
    }

    /// Of `v4` with a checksum field alone, and of one between two others; computed by another program.
    private static let checksum: [UInt8] = [0xd8, 0x08, 0x80, 0x64]
    private static let fields = field(2, Array("id.example.com".utf8))
    private static let checksumBetween: [UInt8] = [0xc8, 0xd6, 0xe0, 0x5a]

    static let longest =
        "PROXY TCP6 ffff:f...f:ffff ffff:f...f:ffff 65535 65535".replacing(
            "ffff:f...f:ffff", with: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")

    static let cases: [Case] = [
        Case(line: "PROXY TCP4 203.0.113.7 192.0.2.1 56324 443", client("203.0.113.7", 56324)),
        Case(line: "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535", client("255.255.255.255", 65535)),
        Case(line: "PROXY TCP4 1.2.3.4 1.2.3.4 0 0", client("1.2.3.4", 0)),
        Case(line: "PROXY TCP6 2001:db8::7 2001:DB8::1 56324 443", client("2001:db8::7", 56324)),
        Case(line: "PROXY TCP6 ::ffff:203.0.113.7 ::1 1 2", client("203.0.113.7", 1)),
        Case(line: longest, client("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535)),
        Case(line: "PROXY UNKNOWN", .anonymous),
        Case(line: "PROXY UNKNOWN " + String(repeating: "f", count: 91), .anonymous),
        Case("v4", binary(0x21, 0x11, v4), client("203.0.113.7", 56324)),
        Case("v6", binary(0x21, 0x21, v6), client("2001:db8::7", 56324)),
        Case(
            "v6 of a mapped v4",
            binary(0x21, 0x21, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 7] + v6[16...]),
            client("203.0.113.7", 56324)),
        Case("unix", binary(0x21, 0x31, unix), .anonymous),
        Case("unspecified", binary(0x21, 0x00, []), .anonymous),
        Case("unspecified with fields", binary(0x21, 0x00, field(4, [0, 0])), .anonymous),
        Case("local", binary(0x20, 0x00, []), .proxy),
        Case("local, all else ignored", binary(0x20, 0xff, [1, 2, 3]), .proxy),
        Case("fields", binary(0x21, 0x11, v4 + fields + field(0x20, [])), client("203.0.113.7", 56324)),
        Case("checksum", binary(0x21, 0x11, v4 + field(3, checksum)), client("203.0.113.7", 56324)),
        Case(
            "checksum between fields",
            binary(0x21, 0x11, v4 + fields + field(3, checksumBetween) + field(4, [0, 0, 0, 0, 0])),
            client("203.0.113.7", 56324)),
        Case(
            "the longest", binary(0x21, 0x11, v4 + field(4, [UInt8](repeating: 0, count: 4096 - 16 - 12 - 3))),
            client("203.0.113.7", 56324)),
    ]

    /// Whole, and at every byte before: not yet, and no error; with bytes behind it as well.
    @Test(arguments: cases) func isRead_AtEverySplit(_ test: Case) throws {
        for count in 0..<test.bytes.count {
            let early = try parse(Array(test.bytes[..<count]))
            #expect(early == nil, "\(count) bytes")
        }
        for behind in [[], Array("GET / HTTP/1.1\r\n".utf8), [13], [10]] {
            let found = try #require(try parse(test.bytes + behind))
            #expect(found.header.source == test.source)
            #expect(found.length == test.bytes.count)
        }
    }

    private static func lines(_ error: ProxyHeaderError, _ lines: String...) -> [Refusal] {
        lines.map { Refusal($0, Array(($0 + "\r\n").utf8), error) }
    }

    static let refusals =
        ([
            lines(
                .missing, "GET / HTTP/1.1", "proxy TCP4 1.2.3.4 1.2.3.4 1 2", "PROXY", " PROXY TCP4 1.2.3.4 1.2.3.4 1 2"
            ),
            lines(
                .unknownProtocol, "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2", "PROXY ", "PROXY UDP4 1.2.3.4 1.2.3.4 1 2",
                "PROXY tcp4 1.2.3.4 1.2.3.4 1 2", "PROXY UNKNOWNS"),
            lines(
                .invalidLine, "PROXY TCP4", "PROXY TCP4 1.2.3.4 1.2.3.4 1", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 ",
                "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3", "PROXY TCP4 1.2.3.4  1.2.3.4 1 2"),
            lines(
                .invalidAddress, "PROXY TCP4 1.2.3 1.2.3.4 1 2", "PROXY TCP4 1.2.3.4 1.2.3.256 1 2",
                "PROXY TCP4 01.2.3.4 1.2.3.4 1 2", "PROXY TCP4 2001:db8::7 2001:db8::1 1 2",
                "PROXY TCP4 ::ffff:1.2.3.4 ::1 1 2", "PROXY TCP6 1.2.3.4 1.2.3.4 1 2", "PROXY TCP6 [::1] ::1 1 2",
                "PROXY TCP6 fe80::1%eth0 ::1 1 2", "PROXY TCP4 1.2.3.4\t1.2.3.4 1 2 3"),
            lines(
                .invalidPort, "PROXY TCP4 1.2.3.4 1.2.3.4 01 2", "PROXY TCP4 1.2.3.4 1.2.3.4 00 2",
                "PROXY TCP4 1.2.3.4 1.2.3.4 +1 2", "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2",
                "PROXY TCP4 1.2.3.4 1.2.3.4 65536 2",
                "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536", "PROXY TCP4 1.2.3.4 1.2.3.4 1 ",
                "PROXY TCP4 1.2.3.4 1.2.3.4 1 0x2",
                "PROXY TCP4 1.2.3.4 1.2.3.4 1 100000"),
            lines(.lineTooLong, "PROXY UNKNOWN " + String(repeating: "f", count: 92)),
            [
                Refusal("TLS", [0x16, 3, 1, 2, 0, 1], .missing),
                Refusal("another first byte", [0], .missing),
                Refusal("LF alone", Array("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n".utf8), .invalidLine),
                Refusal("CR alone", Array("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\rX".utf8), .invalidLine),
                Refusal("CR CR LF", Array("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\r\n".utf8), .invalidLine),
                Refusal(
                    "a line without end", Array(("PROXY UNKNOWN " + String(repeating: "f", count: 200)).utf8),
                    .lineTooLong),
                Refusal(
                    "106 bytes and no end in sight", Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 0x66, count: 92),
                    .lineTooLong),
                Refusal(
                    "a line feed where the longest line has one, and no CR before it",
                    Array("PROXY UNKNOWN ".utf8) + [UInt8](repeating: 0x66, count: 92) + [10], .lineTooLong),
                Refusal("version 1 in the signature", signature + [0x11], .unsupportedVersion),
                Refusal("version 3", signature + [0x31], .unsupportedVersion),
                Refusal("command 2", signature + [0x22], .unknownCommand),
                Refusal("another signature", Array(signature.dropLast()) + [0x0b], .missing),
                Refusal("CRLF CRLF", [13, 10, 13, 10, 13], .missing),
                Refusal("no transport", binary(0x21, 0x10, v4), .unsupportedFamily),
                Refusal("datagrams", binary(0x21, 0x12, v4), .unsupportedFamily),
                Refusal("datagrams over v6", binary(0x21, 0x22, v6), .unsupportedFamily),
                Refusal("datagrams over unix", binary(0x21, 0x32, unix), .unsupportedFamily),
                Refusal("no family", binary(0x21, 0x01, []), .unsupportedFamily),
                Refusal("family 4", binary(0x21, 0x41, v4), .unsupportedFamily),
                Refusal("v4 too short", binary(0x21, 0x11, Array(v4.dropLast())), .tooShort),
                Refusal("v6 too short", binary(0x21, 0x21, v4), .tooShort),
                Refusal("unix too short", binary(0x21, 0x31, Array(unix.dropLast())), .tooShort),
                Refusal("one byte too long", binary(0x21, 0x11, [], length: 4096 - 15), .tooLong),
                Refusal("as long as can be", binary(0x20, 0x00, [], length: 65535), .tooLong),
                Refusal("half a field", binary(0x21, 0x11, v4 + [4, 0]), .invalidFields),
                Refusal("a field beyond the end", binary(0x21, 0x11, v4 + [4, 0, 2, 0]), .invalidFields),
                Refusal("wrong checksum", binary(0x21, 0x11, v4 + field(3, [0xd8, 0x08, 0x80, 0x65])), .wrongChecksum),
                Refusal(
                    "checksum of a changed header", binary(0x21, 0x11, [204] + v4.dropFirst() + field(3, checksum)),
                    .wrongChecksum),
                Refusal("short checksum", binary(0x21, 0x11, v4 + field(3, [1, 2, 3])), .invalidFields),
                Refusal(
                    "two checksums", binary(0x21, 0x11, v4 + field(3, checksum) + field(3, checksum)), .invalidFields),
            ],
        ] as [[Refusal]]).flatMap(\.self)

    /// At whichever byte it is noticed, the same error, and no later than when all is there.
    @Test(arguments: refusals) func isRefused_AtEverySplit(_ test: Refusal) throws {
        #expect(throws: test.error) { try parse(test.bytes) }
        for count in 0..<test.bytes.count {
            do throws(ProxyHeaderError) {
                let early = try parse(Array(test.bytes[..<count]))
                #expect(early == nil, "\(count) bytes")
            } catch {
                #expect(error == test.error, "\(count) bytes")
            }
        }
    }

    private struct Found: Hashable {
        var header: ProxyHeader
        var length: Int
    }

    private func parse(_ bytes: [UInt8]) throws(ProxyHeaderError) -> Found? {
        try ProxyHeader.parse(bytes.span).map { Found(header: $0.header, length: $0.length) }
    }

    @Test func longestLineIsAsTheProtocolSays() {
        #expect((Self.longest + "\r\n").utf8.count == 104)
    }
}
