import Crypto
import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOPosix
import NIOSSL

/// Hummingbird as one would write `/auth/verify` with it: the session cookie's hash is looked up in SQLite and the
/// fields Bramley sends are sent. `/fixed` sends them without asking anything: what the framework alone costs.
///
///     hummingbird-peer PORT DATABASE FIELDS COOKIE TOKEN [CERTIFICATE KEY]
///
/// FIELDS is a file of `Name: value` lines. With a certificate it speaks TLS, HTTP/1.1 and HTTP/2.
@main
struct Peer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 6 || arguments.count == 8, let port = Int(arguments[1]) else {
            fatalError("usage: hummingbird-peer PORT DATABASE FIELDS COOKIE TOKEN [CERTIFICATE KEY]")
        }
        let fields = try Self.fields(arguments[3])
        let sessions = try Sessions(path: arguments[2], token: arguments[5])
        let cookie = arguments[4]

        let router = Router()
        router.get("fixed") { _, _ in Response(status: .noContent, headers: fields) }
        router.get("auth/verify") { request, _ -> Response in
            guard let token = request.cookies[cookie]?.value, try await sessions.contains(token) else {
                return Response(status: .unauthorized)
            }
            return Response(status: .noContent, headers: fields)
        }

        var logger = Logger(label: "peer")
        logger.logLevel = .error
        let server: HTTPServerBuilder
        if arguments.count == 8 {
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(arguments[6]).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: arguments[7], format: .pem)))
            tls.applicationProtocols = ["h2", "http/1.1"]
            server = try .http2Upgrade(tlsConfiguration: tls)
        } else {
            server = .http1()
        }
        let application = Application(
            router: router, server: server,
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
        try await application.runService()
    }

    static func fields(_ path: String) throws -> HTTPFields {
        var fields = HTTPFields()
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard let name = HTTPField.Name(String(parts[0])) else { continue }
            fields.append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
        return fields
    }
}

/// A thousand sessions in a table with the hash as its key.
struct Sessions: Sendable {
    let pool: DatabasePool

    init(path: String, token: String) throws {
        pool = try DatabasePool(path: path)
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE session (token_hash BLOB PRIMARY KEY, user TEXT NOT NULL, expires INTEGER NOT NULL)
                    STRICT, WITHOUT ROWID
                    """)
            for name in (0..<999).map({ "brs_\($0)" }) + [token] {
                try database.execute(
                    sql: "INSERT INTO session VALUES (?, ?, ?)",
                    arguments: [Self.hash(name), "usr_1", Int64.max])
            }
        }
    }

    static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }

    func contains(_ token: String) async throws -> Bool {
        let hash = Self.hash(token)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return try await pool.read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT user FROM session WHERE token_hash = ? AND expires > ?")
            return try String.fetchOne(statement, arguments: [hash, now]) != nil
        }
    }
}
