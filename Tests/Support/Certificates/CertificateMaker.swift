import ChildProcesses
import Foundation
import TemporaryFolders

/// An authority for tests, with a root and an intermediate, in a folder that goes with its owner. Everything is made by
/// OpenSSL's command line, so that our own reading is held against another's writing.
package final class CertificateMaker: Sendable {
    /// What OpenSSL is asked to make a key of.
    package enum Key: String, Sendable {
        case p256 = "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        case p384 = "-algorithm EC -pkeyopt ec_paramgen_curve:P-384"
        case secp256k1 = "-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"
        case rsa2048 = "-algorithm RSA -pkeyopt rsa_keygen_bits:2048"
        case rsa1024 = "-algorithm RSA -pkeyopt rsa_keygen_bits:1024"
        case ed25519 = "-algorithm ED25519"
    }

    /// Texts in PEM.
    package struct Issued: Sendable {
        package var leaf: String
        /// The intermediate that signed it.
        package var issuer: String
        package var key: String
        /// As servers want it.
        package var chain: String { leaf + issuer }
    }

    package struct Failure: Error {
        package var text: String
    }

    package var folder: String { place.path }
    private let place: TemporaryFolder

    package init() throws {
        place = try TemporaryFolder()
        try run(
            """
            printf 'basicConstraints=critical,CA:TRUE\\nsubjectKeyIdentifier=hash\\n' > authority
            for name in root intermediate; do
              openssl genpkey \(Key.p256.rawValue) -out $name.key
            done
            openssl req -x509 -new -key root.key -subj '/CN=Orchard Root/O=Orchard' -days 3650 -out root.pem
            openssl req -new -key intermediate.key -subj '/CN=Orchard X1/O=Orchard' -out intermediate.csr
            openssl x509 -req -in intermediate.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 \
              -extfile authority -out intermediate.pem
            """)
    }

    /// - Parameters:
    ///   - names: of subjectAltName; what looks like an IP address is one. Empty for none.
    ///   - days: how long it is valid, from now on.
    package func issue(_ names: [String], days: Int = 90, key: Key = .p256) throws -> Issued {
        let name = UUID().uuidString
        let entries = names.map {
            $0.contains(":") || $0.allSatisfy { $0.isNumber || $0 == "." } ? "IP:\($0)" : "DNS:\($0)"
        }
        let alternative = names.isEmpty ? "" : "subjectAltName=" + entries.joined(separator: ",") + "\n"
        try write("basicConstraints=CA:FALSE\n" + alternative, to: "\(name).names")
        try run(
            """
            openssl genpkey \(key.rawValue) -out \(name).key
            openssl req -new -key \(name).key -subj '/CN=\(names.first ?? "nobody")' -out \(name).csr
            openssl x509 -req -in \(name).csr -CA intermediate.pem -CAkey intermediate.key \
              -set_serial \(UInt64.random(in: 1...9_000_000_000_000_000_000)) -days \(days) -extfile \(name).names -out \(name).pem
            """)
        return Issued(
            leaf: try read("\(name).pem"), issuer: try read("intermediate.pem"), key: try read("\(name).key"))
    }

    /// A certificate that its own key has signed.
    package func selfSigned(_ name: String, days: Int = 90) throws -> (certificate: String, key: String) {
        let file = UUID().uuidString
        try run(
            """
            openssl genpkey \(Key.p256.rawValue) -out \(file).key
            openssl req -x509 -new -key \(file).key -subj /CN=\(name) -addext subjectAltName=DNS:\(name) \
              -days \(days) -out \(file).pem
            """)
        return (try read("\(file).pem"), try read("\(file).key"))
    }

    package func root() throws -> String { try read("root.pem") }

    /// Runs OpenSSL or whatever else, in the folder.
    @discardableResult
    package func run(_ script: String) throws -> String {
        let finished = try FinishedProgram(running: ["sh", "-c", "set -e; cd '\(folder)'; \(script)"])
        guard finished.succeeded else { throw Failure(text: finished.errorText) }
        return finished.outputText
    }

    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
    }
}
