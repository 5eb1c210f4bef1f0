import ChildProcesses
import Foundation

/// Certificates and keys for the tests of TLS, made by OpenSSL's command line once a run.
///
/// `ca` and `other` (self-signed); signed by `ca`, for apple.test and 127.0.0.1: `good` and `second` (P-256), `rsa`,
/// `p384`, `expired`; `chained`, of an intermediate that follows it. What is refused: `weak` (RSA of 1024 bits),
/// `edwards` (Ed25519), `koblitz` (secp256k1). Keys of `good` and `rsa` under a passphrase: `encrypted`, `traditional`.
package enum TestCertificates {
    package static func folder() throws -> String { try result.get() }

    package static func pem(_ name: String) throws -> [UInt8] { try bytes("\(name).pem") }

    package static func privateKey(_ name: String) throws -> [UInt8] { try bytes("\(name).key") }

    private static func bytes(_ file: String) throws -> [UInt8] {
        try Array(Data(contentsOf: URL(fileURLWithPath: "\(folder())/\(file)")))
    }

    /// What a program wrote into a file.
    package static func text(_ path: String) throws -> String {
        try String(decoding: Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    private struct Failure: Error {
        var text: String
    }

    private static let result = Result {
        let folder = NSTemporaryDirectory() + "bramley-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let script = """
            set -e
            cd '\(folder)'
            key() { openssl ecparam -name ${2:-prime256v1} -genkey -noout -out $1.key; }
            request() { openssl req -new -key $1.key -subj /CN=${2:-apple.test} -out $1.csr; }
            sign() { # NAME ISSUER DAYS EXTENSIONS
              openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days $3 -extfile $4 -out $1.pem
            }
            for name in ca other; do
              key $name
              openssl req -x509 -new -key $name.key -subj /CN=$name -days 30 -out $name.pem
            done
            printf 'subjectAltName=DNS:apple.test,IP:127.0.0.1\\n' > names
            printf 'basicConstraints=critical,CA:TRUE\\n' > authority
            for name in good second expired chained; do key $name; done
            key p384 secp384r1
            key koblitz secp256k1
            openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.key
            openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out weak.key
            openssl genpkey -algorithm ED25519 -out edwards.key
            for name in good p384 koblitz rsa weak edwards expired chained; do request $name; done
            request second second.test
            for name in good second p384 koblitz rsa weak edwards; do sign $name ca 30 names; done
            sign expired ca -1 names
            key intermediate
            request intermediate intermediate
            sign intermediate ca 30 authority
            sign chained intermediate 30 names
            cat intermediate.pem >> chained.pem
            openssl pkcs8 -topk8 -in good.key -passout pass:secret -out encrypted.key
            openssl rsa -in rsa.key -aes128 -traditional -passout pass:secret -out traditional.key
            """
        let finished = try FinishedProgram(running: ["sh", "-c", script])
        guard finished.succeeded else { throw Failure(text: finished.errorText) }
        return folder
    }
}
