import ChildProcesses
import Foundation
import HTTP
import HTTPTypes
import Sockets
import TemporaryFolders
import Testing

/// Apple over https with a certificate that proves nothing. The server believes the authority of the test through
/// `SSL_CERT_FILE`, OpenSSL's own way to name a trust store.
@Suite struct HostileEndpointTLSTests {
    static let refused = ["stranger", "elsewhere", "expired"]

    /// The good certificate first: keys arrive, a sign-in works. Then the token endpoint shows another.
    @Test(arguments: HostileEndpointTLSTests.refused)
    func aTokenEndpointWithAnotherCertificateIsRefused(_ name: String) async throws {
        let folder = try Self.certificates()
        let good = try Self.context("good", in: folder)
        try await withHostileEndpoint(certificate: good) { scene in
            let trust = ["SSL_CERT_FILE": folder.path + "/ca.pem", "SSL_CERT_DIR": folder.path + "/none"]
            let server = try await scene.place.start(on: scene.group, environment: trust)
            _ = try await server.signIn(try await scene.person("good"), at: scene.simulator, from: "10.20.0.1")

            scene.front.setCertificate(try Self.context(name, in: folder))
            let requests = scene.front.count("/auth/token")
            let attempt = try await server.begin(from: "10.20.0.2")
            let person = try await scene.person("bad")
            let form = try await scene.simulator.authorize(person, at: attempt.location)
            let answer = try await server.callback(attempt, form.body)
            #expect(answer.status.code == 503)
            #expect(scene.front.count("/auth/token") == requests, "the code was sent to a stranger")
            #expect(server.process.output.contains("token endpoint: TLS failed: "))

            scene.front.setCertificate(good)
            #expect(try await server.callback(attempt, form.body).cookie(RunningServer.sessionCookie) != nil)
            await server.stop()
        }
    }

    private static func context(_ name: String, in folder: TemporaryFolder) throws -> TLSContext {
        func bytes(_ file: String) throws -> [UInt8] {
            try Array(Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)")))
        }
        return try TLSContext.server(certificate: bytes("\(name).pem"), privateKey: bytes("\(name).key"))
    }

    /// `good` for localhost; `stranger` for localhost by itself; `elsewhere` for another name; `expired`.
    private static func certificates() throws -> TemporaryFolder {
        let folder = try TemporaryFolder(mode: 0o755)
        let script = """
            set -e
            cd '\(folder.path)'
            key() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }
            issue() { # NAME DAYS SAN
              key $1
              openssl req -new -key $1.key -subj /CN=$1 -out $1.csr
              printf 'subjectAltName=%s\\n' "$3" > $1.names
              openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $2 -extfile $1.names -out $1.pem
            }
            key ca
            openssl req -x509 -new -key ca.key -subj /CN=ca -days 30 -out ca.pem
            key stranger
            openssl req -x509 -new -key stranger.key -subj /CN=stranger -days 30 -addext subjectAltName=DNS:localhost \
              -out stranger.pem
            issue good 30 DNS:localhost
            issue elsewhere 30 DNS:appleid.example
            issue expired -1 DNS:localhost
            """
        let finished = try FinishedProgram(running: ["sh", "-c", script])
        #expect(finished.succeeded, "\(finished.errorText)")
        return folder
    }
}
