import Crypto
import Storage
import Testing

@testable import Accounts
@testable import Bramley

struct ConfigurationPostgresTests {
    let fixture = ConfigurationFixture()
    static let url = "postgresql://bramley@db1.example.com,db2.example.com/bramley?target_session_attrs=read-write"

    /// Regression: a file that ends as every editor ends it was refused for having several lines.
    @Test(arguments: [url, url + "\n", url + "\r\n", "\n  " + url + " \n\n"])
    func readsTheConnectionStringFromAFile(text: String) throws {
        let path = try fixture.write(text, to: "postgres.url")
        let storage = try fixture.load(["storage": ["postgres": ["urlFile": path]]]).configuration.storage
        #expect(storage.postgres?.url.reveal() == Self.url)
        #expect(storage.postgres?.trust == 1_000)
    }

    @Test(
        "check warns when an impersonator of PostgreSQL could get the password in the clear",
        arguments: [
            ("postgresql://bramley@db1.example.com/bramley", true),
            ("postgresql://bramley@localhost,db2.example.com/bramley", true),
            ("postgresql://bramley@db1.example.com:5433/bramley?sslmode=prefer", true),
            ("postgresql:///bramley?host=db1.example.com", true),
            ("postgresql://db1.example.com/bramley?hostaddr=192.0.2.1", true),
            ("host=db1.example.com dbname=bramley", true),
            ("dbname = bramley host = 'db1.example.com' sslmode=allow", true),
            ("postgresql://bramley@db1.example.com/bramley?sslmode=verify-full", false),
            ("host=db1.example.com sslmode = 'verify-full' dbname=bramley", false),
            ("postgresql://bramley:a%3Fsslmode@localhost/bramley", false),
            ("postgresql://bramley@[::1]:5432,127.0.0.1/bramley", false),
            ("postgresql://%2Fvar%2Frun%2Fpostgresql/bramley", false),
            ("host=/var/run/postgresql dbname=bramley", false),
            ("dbname=bramley user='a b\\' c'", false), ("service=bramley", false),
        ])
    func warnsWithoutTLS(url: String, isWarned: Bool) throws {
        let warnings = try fixture.load(["storage": ["postgres": ["url": url]]]).warnings
        #expect(warnings.map(\.key).contains("storage.postgres.url") == isWarned)
        #expect(!isWarned || warnings.contains { "\($0)".contains("sslmode=verify-full") })
    }

    @Test(arguments: [
        ("word", "is not a connection string"), ("db1.example.com", "is not a connection string"),
        (url + "\n" + url, "has several lines"), ("host=db1\r\nuser=bramley", "has several lines"),
        ("postgresql://bramley:pa@ss-ZuQ@db1/bramley", "write one in a password as %40"),
        ("postgresql://bramley:pa/ss-ZuQ@db1:5432/bramley", "/ as %2F"),
        ("postgresql://bramley:pa?ss-ZuQ@db1/bramley", "? as %3F"),
        ("postgresql://bramley:ss-ZuQ/bramley", "has a port that is not a number"),
        ("postgresql://bramley:x@db1,db2:ss-ZuQ/bramley", "has a port that is not a number"),
    ])
    func refusesInvalidConnectionStringsWithoutShowingThem(text: String, reason: String) throws {
        let problems = try fixture.problems(["storage": ["postgres": ["url": text]]])
        #expect(problems.map(\.key) == ["storage.postgres.url"])
        #expect(problems.allSatisfy { "\($0)".contains(reason) && !"\($0)".contains("ss-ZuQ") })
    }
}
