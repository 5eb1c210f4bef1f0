import Bramley
import Foundation
import Sockets
import Testing

@testable import Accounts

@Suite struct ImportLineTests {
    static let clientIDs = ["com.example.web", "com.example.app"]

    static func parse(_ text: String) throws(InputFlaw) -> ImportLine {
        guard let line = try ImportLine.parse(Array(text.utf8), clientIDs: clientIDs) else {
            throw InputFlaw("nobody")
        }
        return line
    }

    @Test func readsEverything() throws {
        let line = try Self.parse(
            """
            {"appleSubject":"001234.abc.0001","externalID":"7","email":"a@example.com","emailVerified":true,\
            "isPrivateEmail":true,"name":{"given":"雷","family":"李"},"clientID":"com.example.app","refreshToken":"r.1"}
            """)
        #expect(line.subject.rawValue == "001234.abc.0001")
        #expect(line.externalID == "7")
        #expect(line.email == EmailAddress(address: "a@example.com", isVerified: true, isPrivate: true))
        #expect(line.name == PersonName(given: "雷", family: "李"))
        #expect(line.credential?.clientID.rawValue == "com.example.app")
        #expect(line.credential?.token.value == "r.1")
    }

    @Test(
        "The domain marks a relay address only without a flag",
        arguments: [
            ("a@privaterelay.appleid.com", nil, true), ("a@Private.iCloud.com", nil, true),
            ("a@icloud.com", nil, false), ("privaterelay.appleid.com@example.com", nil, false),
            ("a@x.private.icloud.com", nil, false),
            ("a@private.icloud.com", false, false), ("a@example.com", true, true),
        ] as [(String, Bool?, Bool)])
    func relayAddresses(address: String, flag: Bool?, isPrivate: Bool) throws {
        let member = flag.map { #","isPrivateEmail":\#($0)"# } ?? ""
        let line = try Self.parse(#"{"appleSubject":"a","email":"\#(address)"\#(member)}"#)
        #expect(line.email?.isPrivate == isPrivate)
    }

    /// null, and what an export leaves empty in a name, is absent.
    @Test(arguments: [
        #"{"appleSubject":"a"}"#,
        #"{"appleSubject":"a","externalID":null,"email":null,"emailVerified":null,"isPrivateEmail":null,"name":null,"clientID":null,"refreshToken":null}"#,
        #"{"appleSubject":"a","name":{},"clientID":"com.example.web"}"#,
        #"{"appleSubject":"a","name":{"given":"","family":" "}}"#,
        #" { "appleSubject" : "a" } "# + "\r",
    ])
    func missingMembersAreAbsent(text: String) throws {
        let line = try Self.parse(text)
        #expect(line.externalID == nil && line.email == nil && line.name.isEmpty && line.credential == nil)
    }

    @Test func anAddressIsUnverifiedUnlessTheFileSaysOtherwise() throws {
        #expect(
            try Self.parse(#"{"appleSubject":"a","email":"a@example.com"}"#).email
                == EmailAddress(address: "a@example.com", isVerified: false, isPrivate: false))
    }

    @Test func namesAreMadeSafe() throws {
        let line = try Self.parse(#"{"appleSubject":"a","name":{"given":" admin\u001b[31m\u202e\n","family":"李"}}"#)
        #expect(line.name == PersonName(given: "admin[31m", family: "李"))
    }

    static let long = String(repeating: "x", count: 5000)

    /// Every member wrong in every way, and what is said: never a value.
    static let broken: [(text: String, says: String)] = [
        ("", "not JSON"), ("nonsense", "not JSON"), ("{nonsense", "not JSON: unexpected character, at byte 2"),
        ("[]", "not a JSON object"), ("1", "not a JSON object"),
        ("null", "not a JSON object"), ("{", "not JSON"), (#"{"appleSubject":"a"} {}"#, "not JSON"),
        (#"{"appleSubject":"a","appleSubject":"b"}"#, "not JSON: duplicate member, at byte"),
        (#"{"appleSubject":"\ud800"}"#, "not JSON"),
        ("\u{FEFF}{}", "not JSON: the text starts with a byte order mark"),
        (#"{"appleSubject":[[[[[1]]]]]}"#, "nested deeper than allowed"),
        ("{}", "appleSubject is missing"), (#"{"appleSubject":null}"#, "appleSubject is missing"),
        (#"{"appleSubject":1.5}"#, "appleSubject is neither a string nor a whole number"),
        (#"{"appleSubject":{}}"#, "appleSubject is neither"),
        (#"{"appleSubject":""}"#, "appleSubject is not 1 to"), (#"{"appleSubject":"a b"}"#, "appleSubject is not"),
        (#"{"appleSubject":"é"}"#, "appleSubject is not"), (#"{"appleSubject":"a\u0000"}"#, "appleSubject is not"),
        (#"{"appleSubject":"\#(String(repeating: "s", count: 256))"}"#, "appleSubject is not"),
        (#"{"AppleSubject":"a"}"#, "not a known member"),
        (#"{"appleSubject":"a","sub":"b"}"#, #""sub" is not a known member"#),
        (#"{"appleSubject":"a","externalID":true}"#, "externalID is neither"),
        (#"{"appleSubject":"a","externalID":""}"#, "externalID is not 1 to"),
        (#"{"appleSubject":"a","externalID":"a\nb"}"#, "externalID is not"),
        (#"{"appleSubject":"a","externalID":"\#(String(repeating: "e", count: 256))"}"#, "externalID is not"),
        (#"{"appleSubject":"a","email":true}"#, "email is not a string"),
        (#"{"appleSubject":"a","email":""}"#, "email is not a valid address"),
        (#"{"appleSubject":"a","email":"nobody"}"#, "email is not a valid address"),
        (#"{"appleSubject":"a","email":"a@b@c"}"#, "email is not a valid address"),
        (#"{"appleSubject":"a","email":"a@b\r\nX: y"}"#, "email is not a valid address"),
        (#"{"appleSubject":"a","email":"李\u200b@example.com"}"#, "email is not a valid address"),
        (#"{"appleSubject":"a","email":"a@example.com","emailVerified":"yes"}"#, "emailVerified is neither"),
        (#"{"appleSubject":"a","disabled":"yes"}"#, "disabled is neither"),
        (#"{"appleSubject":"a","email":"a@example.com","isPrivateEmail":1}"#, "isPrivateEmail is neither"),
        (#"{"appleSubject":"a","emailVerified":true}"#, "emailVerified and isPrivateEmail require email"),
        (#"{"appleSubject":"a","isPrivateEmail":false}"#, "emailVerified and isPrivateEmail require email"),
        (#"{"appleSubject":"a","name":"Ann"}"#, "name is not an object"),
        (#"{"appleSubject":"a","name":[]}"#, "name is no"),
        (#"{"appleSubject":"a","name":{"first":"Ann"}}"#, #"name has the unknown member "first""#),
        (#"{"appleSubject":"a","name":{"given":1}}"#, "name.given is not a string"),
        (#"{"appleSubject":"a","name":{"family":true}}"#, "name.family is not a string"),
        (#"{"appleSubject":"a","clientID":1}"#, "clientID is not a string"),
        (#"{"appleSubject":"a","clientID":""}"#, "clientID is neither"),
        (#"{"appleSubject":"a","clientID":"com.example.other"}"#, "clientID is neither"),
        (#"{"appleSubject":"a","clientID":"com.example.Web"}"#, "clientID is neither"),
        (#"{"appleSubject":"a","refreshToken":"r"}"#, "refreshToken needs the clientID"),
        (#"{"appleSubject":"a","clientID":"com.example.web","refreshToken":1}"#, "refreshToken is not a string"),
        (#"{"appleSubject":"a","clientID":"com.example.web","refreshToken":""}"#, "refreshToken is not 1 to"),
        (#"{"appleSubject":"a","clientID":"com.example.web","refreshToken":"a b"}"#, "refreshToken is not"),
        (#"{"appleSubject":"a","clientID":"com.example.web","refreshToken":"\#(long)"}"#, "refreshToken is not"),
    ]

    @Test(arguments: broken)
    func everyMistakeOfALineIsNamed(text: String, says: String) {
        let error = #expect(throws: InputFlaw.self) { try Self.parse(text) }
        #expect(error?.fault.contains(says) == true, "\(String(describing: error))")
        for value in ["nobody", "a@b", "com.example.other", Self.long] {
            #expect(error?.fault.contains(value) != true)
        }
    }

    @Test func limitsAreInclusive() throws {
        let subject = String(repeating: "s", count: ImportLine.longestSubject)
        let token = String(repeating: "t", count: ImportLine.longestToken)
        let external = String(repeating: "e", count: UserLimits.externalID)
        let line = try Self.parse(
            #"{"appleSubject":"\#(subject)","externalID":"\#(external)","clientID":"com.example.web","refreshToken":"\#(token)"}"#
        )
        #expect(line.credential?.token.value == token)
    }

    private func lines(_ bytes: [UInt8]) throws -> (lines: [LineReader.Line], number: Int) {
        let path = FileManager.default.temporaryDirectory.appending(path: "lines-\(UUID().uuidString)").path
        try Data(bytes).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let reader = LineReader(try InputFile(path: path))
        var lines: [LineReader.Line] = []
        while let line = try reader.next() { lines.append(line) }
        #expect(reader.bytesRead == bytes.count)
        return (lines, reader.number)
    }

    private func text(_ text: String) -> LineReader.Line { .text(Array(text.utf8)) }

    @Test func linesEndAtLineFeeds() throws {
        #expect(try lines([]).lines == [])
        #expect(try lines(Array("a\nb".utf8)).lines == [text("a"), text("b")])
        #expect(try lines(Array("a\r\n\nb\n".utf8)).lines == [text("a\r"), text(""), text("b")])
        #expect(try lines(Array("\n".utf8)).lines == [text("")])
    }

    /// At the limit and one past it, across the pieces in which a file is read, and far beyond.
    @Test func longLinesAreSkipped() throws {
        let limit = LineReader.longestLine
        for count in [limit - 1, limit, limit + 1, 65_536 * 3, 10_000_000] {
            let long = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            let found = try lines(Array("a\n".utf8) + long + Array("\nb".utf8))
            let expected: LineReader.Line = count <= limit ? .text(long) : .tooLong
            #expect(found.lines == [text("a"), expected, text("b")], "\(count)")
            #expect(found.number == 3)
            #expect(try lines(long).lines == [expected], "\(count) at the end")
        }
    }

    @Test func directoryInsteadOfAFileIsRefused() {
        #expect(throws: SystemError.self) { _ = try InputFile(path: "/tmp") }
        #expect(throws: SystemError.self) { _ = try InputFile(path: "/nonexistent") }
    }
}

/// One place knows the domains of Apple's relay.
@Suite struct RelayDomainTests {
    @Test func noOtherFileOfTheServerNamesOne() throws {
        let files = try #require(
            FileManager.default.enumerator(at: packageRoot.appending(path: "Sources"), includingPropertiesForKeys: nil))
        var naming: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            // The simulated Apple is no part of the server; the samples are pages' contents.
            let isOfTheServer = !file.path.contains("/AppleSimulator/")
            guard isOfTheServer, file.lastPathComponent != "PageSamples.swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            if EmailAddress.relayDomains.contains(where: text.contains) { naming.insert(file.lastPathComponent) }
        }
        #expect(naming == ["User.swift"])
    }
}
