import Foundation
import Testing

@testable import Bramley

/// What `init --rehearse` writes for the package's units. Tests/System/Commands/test_rehearsal.py runs the rest.
struct RehearsalTests {
    let fixture = ConfigurationFixture()

    @Test(arguments: [
        ("https://id.example.com", "--allow-simulated-apple"), ("https://id.example.test", ""),
    ])
    func unitsGetTheirOptions(url: String, flag: String) throws {
        let configuration = try fixture.load(
            ["publicURL": url, "apple": ["endpoint": "http://127.0.0.1:9701"]], simulatedApple: .accepted
        ).configuration
        let path = fixture.directory.appending(path: "config.json").path
        try Rehearsal.writeOptions(of: configuration, ConfigurationOutput(path: path, replacesFiles: true))
        let written = try String(
            contentsOf: fixture.directory.appending(path: "rehearsal.env"), encoding: .utf8)
        #expect(
            written.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                "SERVE_OPTIONS=\(flag)",
                "SIMULATOR_OPTIONS=--port 9701 --server-url \(url) --services-id com.example.web "
                    + "--bundle-id com.example.app --team-id A1B2C3D4E5 --key-id F6G7H8I9J0",
            ])
        for (unit, name) in [("bramley", "SERVE_OPTIONS"), ("apple-simulator", "SIMULATOR_OPTIONS")] {
            let unit = try text(ofFile: "packaging/systemd/\(unit).service")
            #expect(unit.contains("/etc/bramley/rehearsal.env\n") && unit.contains(" $\(name)"))
        }
        // And nothing else of that folder.
        let unit = try text(ofFile: "packaging/systemd/apple-simulator.service")
        let package = ConfigurationOutput(path: "/etc/bramley/config.json", replacesFiles: true)
        let key = Rehearsal().settings(package).first { $0.name == "apple.privateKeyFile" }?.text ?? ""
        #expect(unit.contains("\nLoadCredential=key:\(key)\n") && unit.contains(" --key %d/key\n"))
        #expect(!unit.contains("bramley\n"))
    }
}
