import Bramley
import Certificates
import Foundation
import Testing

/// What a file is that Apple's `.p8` should be, in one sentence each.
@Suite struct AppleKeyFileTests {
    private static let files: [(name: String, text: String, said: String)] = [
        ("empty", "", "is empty."),
        ("blank", " \n\r\n", "is empty."),
        ("no key at all", "hunter2", "contains no P-256 private key."),
        ("two keys", TestKeys.first + TestKeys.first, "contains more than one key or certificate."),
        ("ssh", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI ada@example.com", "is a public key, not a private one."),
        (
            "cut short", String(TestKeys.first.split(separator: "\n").prefix(2).joined(separator: "\n")),
            "is a private key that is damaged or cut short: its last line, -----END …, is missing."
        ),
        (
            "a foreign character", TestKeys.first.replacing("ZMDK", with: "ZM\u{2026}K"),
            "is a private key that is damaged or cut short: \"\u{2026}\" (U+2026) is in it."
        ),
        (
            "dashes of a word processor", TestKeys.first.replacing("-----", with: "\u{2014}"),
            "has other characters where its first line needs five hyphens on both sides."
        ),
        (
            "base64 once more", Data(TestKeys.first.utf8).base64EncodedString(),
            "is base64-encoded once more: decode it with base64 -d."
        ),
        (
            "without its first line",
            TestKeys.first.split(separator: "\n").dropFirst().joined(separator: "\n"),
            "has no line -----BEGIN PRIVATE KEY-----, or none with END."
        ),
        (
            "the middle alone",
            TestKeys.first.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n"),
            "has no line -----BEGIN PRIVATE KEY-----, or none with END."
        ),
        (
            "the name of a file", "keys/AuthKey_F6G7H8I9J0.p8",
            "is the name of a file: set it in the key whose name ends in File."
        ),
    ]

    @Test(arguments: 0..<files.count) func saysWhatItIs(number: Int) throws {
        let file = Self.files[number]
        let fixture = ConfigurationFixture()
        let path = try fixture.write(file.text, to: "AuthKey_F6G7H8I9J0.p8")
        let problems = try fixture.problems(["apple": ["privateKeyFile": path]])
        #expect(problems.map(\.key) == ["apple.privateKeyFile"], "\(file.name)")
        #expect(problems.first?.fault == "\"\(path)\" \(file.said)", "\(file.name)")
        #expect(problems.first?.description.contains("PRIVATE KEY-----\n") == false, "\(file.name)")
    }

    /// Keys that OpenSSL's command makes, and what they are instead of Apple's.
    private static let others: [(name: String, command: String, said: String)] = [
        (
            "RSA", "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024",
            "is an RSA key; Apple's keys are P-256."
        ),
        ("RSA, PKCS#1", "openssl genrsa -traditional 1024", "is an RSA key; Apple's keys are P-256."),
        (
            "another curve", "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384",
            "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "another curve, SEC 1", "openssl ecparam -name secp384r1 -genkey -noout",
            "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "Ed25519", "openssl genpkey -algorithm ED25519", "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "encrypted", "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes128 -pass pass:x",
            "is encrypted with a password; Apple's keys are not."
        ),
        (
            "encrypted, the older way",
            "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -aes128 -passout pass:x",
            "is encrypted with a password; Apple's keys are not."
        ),
        (
            "public", "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout",
            "is a public key, not a private one."
        ),
        ("a certificate", "cat root.pem", "is a certificate, not a private key."),
    ]

    @Test("A key of another kind is named", arguments: 0..<others.count)
    func saysWhatOtherKeysAre(number: Int) throws {
        let other = Self.others[number]
        let text = try Self.maker.get().run(other.command)
        let fixture = ConfigurationFixture()
        let path = try fixture.write(text, to: "AuthKey_F6G7H8I9J0.p8")
        let problems = try fixture.problems(["apple": ["privateKeyFile": path]])
        #expect(problems.map(\.fault) == ["\"\(path)\" \(other.said)"], "\(other.name): \(text)")
    }

    private static let maker = Result { try CertificateMaker() }

    /// What editors and environments make of a sound key.
    static let pasted: [(String, String)] = [
        ("\n", " "), ("\n", ""), ("\n", "\r\n"), ("\n", "\\n"), ("\n-----END", "-----END"), ("\n", "\n  "),
    ]

    @Test("A valid key is accepted with damaged line ends", arguments: pasted)
    func acceptsAPastedKey(line: String, become: String) throws {
        let text = TestKeys.first.replacing(line, with: become)
        let fixture = ConfigurationFixture()
        for form in ["%", "\u{FEFF}%", "\"%\"", "'%'\n", "%\n\n"] {
            let pasted = form.replacing("%", with: text)
            let path = try fixture.write(pasted, to: "AuthKey_F6G7H8I9J0.p8")
            #expect(try fixture.problems(["apple": ["privateKeyFile": path]]).isEmpty, "\(form)")
            let inline = try fixture.problems(["apple": ["privateKeyFile": NSNull(), "privateKey": pasted]])
            #expect(inline.isEmpty, "\(form)")
            let environment = try fixture.problems(
                ["apple": ["privateKeyFile": NSNull()]], environment: ["BRAMLEY_APPLE_PRIVATE_KEY": pasted])
            #expect(environment.isEmpty, "\(form)")
        }
    }

    @Test func theTextInTheEnvironmentIsJudgedAlike() throws {
        let text = try Self.maker.get().run(try #require(Self.others.first).command)
        let rsa = text.replacing("\n", with: "\\n")
        let fixture = ConfigurationFixture()
        let problems = try fixture.problems(
            ["apple": ["privateKeyFile": NSNull()]], environment: ["BRAMLEY_APPLE_PRIVATE_KEY": rsa])
        #expect(problems.map(\.fault) == ["is an RSA key; Apple's keys are P-256."])
    }
}
