import Crypto
import Storage
import Testing

@testable import Bramley

struct ConfigurationPostgresTests {
    let fixture: ConfigurationFixture
    static let url = "postgresql://bramley@db1.example.com,db2.example.com/bramley?target_session_attrs=read-write"

    init() throws {
        fixture = try ConfigurationFixture()
    }

    /// Regression: a file that ends as every editor ends it was refused for having several lines.
    @Test(arguments: [url, url + "\n", url + "\r\n", "\n  " + url + " \n\n"])
    func readsTheConnectionStringFromAFile(text: String) throws {
        let path = try fixture.write(text, to: "postgres.url")
        let storage = try fixture.load(["storage": ["postgres": ["urlFile": path]]]).configuration.storage
        #expect(storage.postgres?.url.reveal() == Self.url)
        #expect(storage.postgres?.trust == 1_000)
    }

    @Test(arguments: [
        ("word", "is not a connection string"), ("db1.example.com", "is not a connection string"),
        (url + "\n" + url, "has several lines"), ("host=db1\r\nuser=bramley", "has several lines"),
        ("postgresql://bramley:pa@ss-ZuQ@db1/bramley", "write one in a password as %40"),
    ])
    func refusesWhatIsNoConnectionStringAndNeverShowsIt(text: String, reason: String) throws {
        let problems = try fixture.problems(["storage": ["postgres": ["url": text]]])
        #expect(problems.map(\.key) == ["storage.postgres.url"])
        #expect(problems.allSatisfy { "\($0)".contains(reason) && !"\($0)".contains("ss-ZuQ") })
    }
}
