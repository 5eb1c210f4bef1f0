import Bramley
import Foundation
import Testing

/// What a file is that Apple's `.p8` should be, in one sentence each.
@Suite struct AppleKeyFileTests {
    private static let files: [(name: String, text: String, said: String)] = [
        ("empty", "", "is empty."),
        ("blank", " \n\r\n", "is empty."),
        ("no key at all", "hunter2", "holds no P-256 private key."),
        ("two keys", ConfigurationFixture.pem + ConfigurationFixture.pem, "holds more than one key or certificate."),
        ("ssh", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI ada@example.com", "is a public key, not a private one."),
        (
            "cut short", String(ConfigurationFixture.pem.split(separator: "\n").prefix(2).joined(separator: "\n")),
            "is a private key that is damaged or cut short: its last line, -----END …, is missing."
        ),
        (
            "a foreign character", ConfigurationFixture.pem.replacing("ZMDK", with: "ZM\u{2026}K"),
            "is a private key that is damaged or cut short: \"\u{2026}\" (U+2026) is in it."
        ),
        (
            "dashes of a word processor", ConfigurationFixture.pem.replacing("-----", with: "\u{2014}"),
            "has other characters where its first line needs five hyphens on both sides."
        ),
        (
            "base64 once more", Data(ConfigurationFixture.pem.utf8).base64EncodedString(),
            "is encoded in base64 once more: decode it with base64 -d."
        ),
        (
            "without its first line",
            ConfigurationFixture.pem.split(separator: "\n").dropFirst().joined(separator: "\n"),
            "has no line -----BEGIN PRIVATE KEY-----, or none with END."
        ),
        (
            "the middle alone",
            ConfigurationFixture.pem.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n"),
            "has no line -----BEGIN PRIVATE KEY-----, or none with END."
        ),
        (
            "the name of a file", "keys/AuthKey_F6G7H8I9J0.p8",
            "is the name of a file: give it in the key whose name ends with File."
        ),
        (
            "RSA",
            """
            -----BEGIN PRIVATE KEY-----
            MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBANn8OdVA8NnToync
            iBNSoTkpzuf0vvW1PJVb4okxGSYa+1Q9nu3AD9s1ZG74Xq3tWym1rCk35uHplkK9
            /UnSZzLlAUzVXFivGkbSNK/Z82EtYhSGsG4ydHLxmu1JtMmbpPeHwYpAsBo35qrz
            Me2fWCotXayzI4ur5lEZ/XgLOgfHAgMBAAECgYBBYBLcMTDKs11A5cHtwZ9WrIJA
            MLfAqw0zYi5LpOz876SmvCBY/3wB6z5mxZhno0Lu/GxYpEpbQJnvBFnddPu7yw+h
            eOB0QHGWrjceznmDMlbsaUeayInJGZOQCfkTn/lUVc/qropYXBp1BCEv8jMpprN6
            vYLIXFnlEdLomqvwqQJBAPMXzs/Vgq3HtNXiAgUa+35UwGHW53YUo18x6NWH4PDS
            OWO2dc32wGGVIclWGrazS9O/SwfaaIxDrmzclNR8Jc0CQQDljyVrz3kP+jWQqeEC
            uiHTwQiLy+oqEt2iRAGbgikc2tcOHpWbnwQuWst26Pb7aUGtkvQAXnx/RaxAyhyR
            I4/jAkAJp7lsIdPV6Seykw53e3Hfu6gEes+orfsrLcVMrd/uULs8zaNyMcnEVnMI
            FyZqeUaau29UeYVLhOippD05D1FFAkEAqi5B1rf7jt22IiXeWtA0TbB4LnMgiMpt
            pmL2Mhv/cJXIAn6n+LOdPOQwnFm+58kzWINuAmwJraywM2PiY7LScwJBANWn31sA
            fZkWcZgdM2wSOVG/9zT7Pdtx9lNaMNJQlE3tUJkJw3Sg0eGlWMlyyfL1hBzKZqf4
            CVigQz0sp97a6AM=
            -----END PRIVATE KEY-----
            """,
            "is an RSA key; Apple's keys are P-256."
        ),
        (
            "RSA, PKCS#1",
            """
            -----BEGIN RSA PRIVATE KEY-----
            MIICXQIBAAKBgQDZ/DnVQPDZ06Mp3IgTUqE5Kc7n9L71tTyVW+KJMRkmGvtUPZ7t
            wA/bNWRu+F6t7VsptawpN+bh6ZZCvf1J0mcy5QFM1VxYrxpG0jSv2fNhLWIUhrBu
            MnRy8ZrtSbTJm6T3h8GKQLAaN+aq8zHtn1gqLV2ssyOLq+ZRGf14CzoHxwIDAQAB
            AoGAQWAS3DEwyrNdQOXB7cGfVqyCQDC3wKsNM2IuS6Ts/O+kprwgWP98Aes+ZsWY
            Z6NC7vxsWKRKW0CZ7wRZ3XT7u8sPoXjgdEBxlq43Hs55gzJW7GlHmsiJyRmTkAn5
            E5/5VFXP6q6KWFwadQQhL/IzKaazer2CyFxZ5RHS6Jqr8KkCQQDzF87P1YKtx7TV
            4gIFGvt+VMBh1ud2FKNfMejVh+Dw0jljtnXN9sBhlSHJVhq2s0vTv0sH2miMQ65s
            3JTUfCXNAkEA5Y8la895D/o1kKnhAroh08EIi8vqKhLdokQBm4IpHNrXDh6Vm58E
            LlrLduj2+2lBrZL0AF58f0WsQMockSOP4wJACae5bCHT1eknspMOd3tx37uoBHrP
            qK37Ky3FTK3f7lC7PM2jcjHJxFZzCBcmanlGmrtvVHmFS4ToqaQ9OQ9RRQJBAKou
            Qda3+47dtiIl3lrQNE2weC5zIIjKbaZi9jIb/3CVyAJ+p/iznTzkMJxZvufJM1iD
            bgJsCa2ssDNj4mOy0nMCQQDVp99bAH2ZFnGYHTNsEjlRv/c0+z3bcfZTWjDSUJRN
            7VCZCcN0oNHhpVjJcsny9YQcyman+AlYoEM9LKfe2ugD
            -----END RSA PRIVATE KEY-----
            """,
            "is an RSA key; Apple's keys are P-256."
        ),
        (
            "another curve",
            """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBLdQH8euafBENQQg35
            GCJONwwM2CrupqMAJRWz4k9uE1ummHYT93OB+YPBWJN4CTOhZANiAAQPylKEGqep
            Po19pzE62NJsFTQNdnrdhzb3x+XGLe2kjXLfTmJO2TnRSMRieRIP3w6xWxHPWBRu
            ++8t9RpM+GjhHa865iIyb+nQDvAdCxT673WeN1+GH4srRm7YNIId3+Q=
            -----END PRIVATE KEY-----
            """,
            "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "another curve, SEC 1",
            """
            -----BEGIN EC PRIVATE KEY-----
            MIGkAgEBBDAaf5fVYcf0yHROnwxz6AGkBV/bm0i+VvoHEiVaeHT8CxwyTNLk4AJh
            C7Qm1qTHWl6gBwYFK4EEACKhZANiAASptY5ig9OgebOk+UtLP476mmm+BpLLUZa5
            pkgCFUu67EwE8ReYOAovl9k+LAbB1f5kAd8sa51jEEg+GkZb2e7SJKFfy6L2/lNL
            d2nLktGfFHRDkbZs1RX53UY8Kx0MyG8=
            -----END EC PRIVATE KEY-----
            """,
            "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "Ed25519",
            """
            -----BEGIN PRIVATE KEY-----
            MC4CAQAwBQYDK2VwBCIEIOB4UvRk3XWh5rxHpdSjMuuOxGFQCQlGuDFygduWX8tB
            -----END PRIVATE KEY-----
            """,
            "is a private key of another kind; Apple's keys are P-256."
        ),
        (
            "encrypted",
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhAWeD6LAn1QQICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEaFwlKPZ1xP8/uk3xnMX88EgZBC
            R4Rh/AeszbpLZNY+11/4kfiwnF1ql1K1SyqjicM4GPJ6f9IGMQe8xqMrjAUYqvLq
            ZEMGCuulPEinOg+Tj9wG8cmJmfQFed7oDvtVjo9/1nwPeL78NhTBqzfPwQh8bDOQ
            YDlcNSBmrEpMbYm7OwjSgtoEsBIMeBEtCxSqn4B5iaNijTEUvP2sjYQr5Ro4Fqw=
            -----END ENCRYPTED PRIVATE KEY-----
            """,
            "is encrypted with a password; Apple's keys are not."
        ),
        (
            "encrypted, the older way",
            """
            -----BEGIN EC PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-128-CBC,62A38C34FD8C6B66379E2F64125CD374

            QmM74XuIDgQqQgtOe7Iiorvy7yHC3FQlbQZeJ+cJHnr3ICUuwg0j3X1hqAf/1Ib/
            bC3b3dEr5jz6DMLraReZ3L5PNDUOGcNyaiPlZZjZSqFCZE/xakfwCutr0meq+b7/
            Hq+YqmrZu88kb/yPGUzWI8NcpSzXz5eW17IKNKTa3iI=
            -----END EC PRIVATE KEY-----
            """,
            "is encrypted with a password; Apple's keys are not."
        ),
        (
            "public",
            """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2AkS1EtlKr0SqR2NFEeq5IRfoBP1
            5suAxtyJyAZYaUu/l4zK0mibUwkb9m7V25udR6Lv1oPVuQvtWrkzpLSNpg==
            -----END PUBLIC KEY-----
            """,
            "is a public key, not a private one."
        ),
        (
            "a certificate",
            """
            -----BEGIN CERTIFICATE-----
            MIIBbTCCAROgAwIBAgIUE2A/a6cQTq04SzAyTukCQCUaWWkwCgYIKoZIzj0EAwIw
            DDEKMAgGA1UEAwwBeDAeFw0yNjExMjQwMTAyMTFaFw0yNjExMjUwMTAyMTFaMAwx
            CjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATYCRLUS2UqvRKp
            HY0UR6rkhF+gE/Xmy4DG3InIBlhpS7+XjMrSaJtTCRv2btXbm51Hou/Wg9W5C+1a
            uTOktI2mo1MwUTAdBgNVHQ4EFgQUgingcGAybK0mQFoToNa1DMh4iVAwHwYDVR0j
            BBgwFoAUgingcGAybK0mQFoToNa1DMh4iVAwDwYDVR0TAQH/BAUwAwEB/zAKBggq
            hkjOPQQDAgNIADBFAiEAn5moe6V4HynxRrvz+XvIqoOTDi8oicEUK9vvsH5UkxoC
            IF3ic5RD9wDbF6adjKNilCk0Uaw49kBnfjP/yybB0/7x
            -----END CERTIFICATE-----
            """,
            "is a certificate, not a private key."
        ),
    ]

    @Test(arguments: 0..<files.count) func saysWhatItIs(number: Int) throws {
        let file = Self.files[number]
        let fixture = try ConfigurationFixture()
        let path = try fixture.write(file.text, to: "AuthKey_F6G7H8I9J0.p8")
        let problems = try fixture.problems(["apple": ["privateKeyFile": path]])
        #expect(problems.map(\.key) == ["apple.privateKeyFile"], "\(file.name)")
        #expect(problems.first?.fault == "\"\(path)\" \(file.said)", "\(file.name)")
        #expect(problems.first?.description.contains("PRIVATE KEY-----\n") == false, "\(file.name)")
    }

    /// What editors and environments make of a sound key.
    static let pasted: [(String, String)] = [
        ("\n", " "), ("\n", ""), ("\n", "\r\n"), ("\n", "\\n"), ("\n-----END", "-----END"), ("\n", "\n  "),
    ]

    @Test("A sound key is taken however its lines were lost", arguments: pasted)
    func takesAPastedKey(line: String, become: String) throws {
        let text = ConfigurationFixture.pem.replacing(line, with: become)
        let fixture = try ConfigurationFixture()
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
        let rsa = try #require(Self.files.first { $0.name == "RSA" }).text.replacing("\n", with: "\\n")
        let fixture = try ConfigurationFixture()
        let problems = try fixture.problems(
            ["apple": ["privateKeyFile": NSNull()]], environment: ["BRAMLEY_APPLE_PRIVATE_KEY": rsa])
        #expect(problems.map(\.fault) == ["is an RSA key; Apple's keys are P-256."])
    }
}
