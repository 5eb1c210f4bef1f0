import Certificates
import Crypto
import Foundation
import Testing

/// Certificates as OpenSSL's command writes them, read by us.
@Suite struct CertificateTests {
    private static let maker = Result { try CertificateMaker() }

    private static func chain(_ pem: String) throws -> CertificateChain { try CertificateChain(pem: Array(pem.utf8)) }

    @Test func aChain_isReadAsItWasWritten() throws {
        let maker = try Self.maker.get()
        let issued = try maker.issue(["ID.example.com", "*.Example.com", "192.0.2.7", "2001:db8::1"], days: 90)
        let before = Int64(Date.now.timeIntervalSince1970)
        // Text around the blocks, and the ends of lines of other systems.
        let text = ("subject=/CN=x\n" + issued.leaf + "\nissued by\n" + issued.issuer).replacing("\n", with: "\r\n")
        let chain = try Self.chain(text)
        #expect(chain.certificates.count == 2)
        #expect(chain.misplaced == nil)
        let leaf = chain.leaf
        #expect(leaf.names == ["id.example.com", "*.example.com", "192.0.2.7", "2001:db8:0:0:0:0:0:1"])
        #expect(leaf.subject == "CN = ID.example.com" || leaf.subject == "CN=ID.example.com")
        #expect(leaf.issuer.contains("Orchard X1"))
        #expect(leaf.notAfter - leaf.notBefore == 90 * 86_400)
        #expect(abs(leaf.notBefore - before) < 120)
        #expect(leaf.keyKind == .elliptic(curve: "prime256v1"))
        #expect(!leaf.isAuthority && !leaf.isSelfSigned)
        #expect(chain.certificates[1].isAuthority)
        try maker.write(issued.leaf, to: "fingerprint.pem")
        let printed = try maker.run("openssl x509 -in fingerprint.pem -noout -fingerprint -sha256")
        let digits = leaf.fingerprint.bytes.map { String(format: "%02X", $0) }.joined(separator: ":")
        #expect(printed.contains(digits))
        #expect(CertificateSummary(der: leaf.der) == leaf)
        #expect(CertificateSummary(der: leaf.der + [0]) == nil)
    }

    @Test(arguments: [
        (CertificateMaker.Key.p256, CertificateSummary.KeyKind.elliptic(curve: "prime256v1")),
        (.p384, .elliptic(curve: "secp384r1")), (.secp256k1, .elliptic(curve: "secp256k1")),
        (.rsa2048, .rsa(bits: 2048)), (.rsa1024, .rsa(bits: 1024)), (.ed25519, .other("ED25519")),
    ])
    func certificate_namesTheKindOfItsKey(_ key: CertificateMaker.Key, _ kind: CertificateSummary.KeyKind) throws {
        let issued = try Self.maker.get().issue(["a.example"], key: key)
        let leaf = try Self.chain(issued.chain).leaf
        #expect(leaf.keyKind == kind)
        #expect(try CertificateKey(pem: issued.key).belongs(to: leaf))
    }

    @Test func theOrder_isChecked() throws {
        let maker = try Self.maker.get()
        let issued = try maker.issue(["a.example"])
        let root = try maker.root()
        #expect(try Self.chain(issued.chain + root).misplaced == nil)
        #expect(try Self.chain(issued.issuer + issued.leaf).misplaced == 2)
        #expect(try Self.chain(issued.leaf + root + issued.issuer).misplaced == 2)
        #expect(try Self.chain(issued.chain + issued.leaf).misplaced == 3)
        let own = try maker.selfSigned("a.example")
        #expect(try Self.chain(own.certificate).leaf.isSelfSigned)
    }

    @Test func malformedChain_isRefused() throws {
        let issued = try Self.maker.get().issue(["a.example"])
        #expect(throws: CertificateChain.Flaw.empty) { try Self.chain("") }
        #expect(throws: CertificateChain.Flaw.empty) { try Self.chain("no certificate") }
        #expect(throws: CertificateChain.Flaw.empty) { try Self.chain(issued.key) }
        // Every way of half a file: never a chain that is shorter than it should be.
        for count in stride(from: 1, to: issued.leaf.utf8.count - 1, by: 7) {
            #expect(throws: CertificateChain.Flaw.self) { try Self.chain(String(issued.leaf.prefix(count))) }
        }
        #expect(throws: CertificateChain.Flaw.malformed(2)) {
            try Self.chain(issued.leaf + String(issued.issuer.prefix(200)))
        }
        let damaged = issued.issuer.replacing("MII", with: "AAA")
        #expect(throws: CertificateChain.Flaw.malformed(2)) { try Self.chain(issued.leaf + damaged) }
        let most = String(repeating: issued.leaf, count: CertificateChain.maximum)
        #expect(try Self.chain(most).certificates.count == CertificateChain.maximum)
        #expect(throws: CertificateChain.Flaw.tooLong) { try Self.chain(most + issued.leaf) }
    }

    @Test(arguments: [
        ("id.example.com", true), ("ID.EXAMPLE.COM", true), ("www.wild.example", true), ("192.0.2.7", true),
        ("wild.example", false), ("a.b.wild.example", false), ("example.com", false),
        ("id.example.com.evil.test", false),
        ("192.0.2.8", false), ("", false),
    ])
    func names_areComparedAsBrowsersDo(_ host: String, _ fits: Bool) throws {
        let leaf = try Self.chain(Self.maker.get().issue(["id.example.com", "*.wild.example", "192.0.2.7"]).leaf).leaf
        #expect(leaf.covers(host) == fits)
    }

    /// RFC 9525 §6.3: a name that is only in the subject is ignored.
    @Test func theCommonName_isIgnored() throws {
        let maker = try Self.maker.get()
        let text = try maker.run(
            """
            openssl genpkey \(CertificateMaker.Key.p256.rawValue) -out cn.key
            openssl req -x509 -new -key cn.key -subj /CN=id.example.com -days 9
            """)
        #expect(try !Self.chain(text).leaf.covers("id.example.com"))
    }

    @Test func keys_areReadInTheirUsualForms() throws {
        let maker = try Self.maker.get()
        for kind in [CertificateMaker.Key.p256, .rsa2048] {
            let issued = try maker.issue(["a.example"], key: kind)
            let leaf = try Self.chain(issued.leaf).leaf
            try maker.write(issued.key, to: "forms.key")
            let old = try maker.run("openssl pkey -in forms.key -traditional")
            for text in [issued.key, old, issued.chain + issued.key, issued.key + issued.chain] {
                #expect(try CertificateKey(pem: text).belongs(to: leaf))
            }
            let other = try maker.issue(["a.example"], key: kind)
            #expect(try !CertificateKey(pem: other.key).belongs(to: leaf))
        }
    }

    @Test func malformedKey_isRefused() throws {
        let maker = try Self.maker.get()
        let issued = try maker.issue(["a.example"])
        try maker.write(issued.key, to: "plain.key")
        let encrypted = try maker.run("openssl pkey -in plain.key -aes256 -passout pass:x")
        let old = try maker.run("openssl ec -in plain.key -aes128 -passout pass:x 2>/dev/null")
        for text in [encrypted, old] { #expect(throws: KeyError.encrypted) { try CertificateKey(pem: text) } }
        for text in ["", "key", issued.leaf, issued.key + issued.key, String(issued.key.prefix(100))] {
            #expect(throws: KeyError.malformed) { try CertificateKey(pem: text) }
        }
    }
}
