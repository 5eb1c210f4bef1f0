import Foundation
import Testing
import Web

@testable import Bramley

struct PagesConfigurationTests {
    private let fixture: ConfigurationFixture
    private let directory: URL

    init() throws {
        fixture = ConfigurationFixture()
        directory = fixture.directory.appending(path: "pages")
        for folder in ["assets", "strings", "templates"] {
            try FileManager.default.createDirectory(
                at: directory.appending(path: folder), withIntermediateDirectories: true)
        }
    }

    private func write(_ text: String, to path: String, mode: Int = 0o644) throws {
        _ = try fixture.write(text, to: "pages/\(path)", mode: mode)
    }

    private func load(_ locales: [String]? = nil) throws -> LoadedConfiguration {
        var pages: [String: Any] = ["directory": directory.path]
        if let locales { pages["locales"] = locales }
        return try fixture.load(["pages": pages])
    }

    private func problems(_ locales: [String]? = nil) throws -> [String] {
        do {
            return try load(locales).warnings.map(\.fault)
        } catch let failure as ConfigurationFailure {
            return failure.problems.map { $0.fault.replacing(directory.path + "/", with: "") }
        }
    }

    @Test func withoutFilesThePagesAreTheBuiltInOnes() throws {
        let configuration = try fixture.load().configuration
        #expect(configuration.pagesDirectory == nil)
        #expect(configuration.web.pageOverrides == [:])
        #expect(configuration.web.locales == ["en", "de", "fr", "es", "ja", "ko", "zh-Hans", "ar"])
        #expect(try load().configuration.web.pageOverrides == [:])
        try FileManager.default.removeItem(at: directory.appending(path: "assets"))
        #expect(try load().warnings.isEmpty)
    }

    @Test func filesAreReadOneByOne() throws {
        try write("body{}", to: "assets/bramley.css")
        try write(#"{"login":{"title":"Inloggen"}}"#, to: "strings/nl.json")
        let web = try load(["nl", "en"]).configuration.web
        #expect(web.pageOverrides["assets/bramley.css"] == Array("body{}".utf8))
        #expect(web.pageOverrides.count == 2)
        #expect(web.locales == ["nl", "en"])
    }

    @Test func unknownLanguageIsAWarning() throws {
        try write(#"{"login":{"title":"Inloggen"}}"#, to: "strings/nl.json")
        #expect(try problems() == ["\"strings/nl.json\" is not used."])
        #expect(try problems(["en", "nl"]) == [])
    }

    @Test func linkLeavingTheDirectoryIsRefused() throws {
        let secret = try fixture.write("secret", to: "secret.txt")
        try linkFile(at: directory.appending(path: "assets/icon.svg").path, to: secret)
        #expect(try problems() == ["\"assets/icon.svg\" is a link that leads out of the directory."])
    }

    @Test(
        "A folder that links outside, and a neighbour with the same prefix", arguments: ["elsewhere", "pages2"])
    func linkedFolderIsRefused(name: String) throws {
        let other = fixture.directory.appending(path: name)
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        _ = try fixture.write("body{}", to: "\(name)/bramley.css", mode: 0o644)
        try FileManager.default.removeItem(at: directory.appending(path: "assets"))
        try linkFile(at: directory.appending(path: "assets").path, to: "../\(name)")
        #expect(try problems() == ["\"assets/bramley.css\" is a link that leads out of the directory."])
    }

    /// As Kubernetes mounts a ConfigMap: each name is a link into a hidden folder beside it.
    @Test func linkWithinTheDirectoryIsFollowed() throws {
        try FileManager.default.createDirectory(
            at: directory.appending(path: "..data"), withIntermediateDirectories: true)
        try write("body{}", to: "..data/bramley.css")
        try linkFile(at: directory.appending(path: "assets/bramley.css").path, to: "../..data/bramley.css")
        #expect(try load().configuration.web.pageOverrides["assets/bramley.css"] == Array("body{}".utf8))
    }

    @Test func brokenLinkAndFolderAreIgnored() throws {
        try linkFile(at: directory.appending(path: "assets/icon.svg").path, to: "nowhere.svg")
        try FileManager.default.createDirectory(
            at: directory.appending(path: "assets/login.js"), withIntermediateDirectories: true)
        #expect(try problems() == ["\"assets/icon.svg\" does not exist.", "\"assets/login.js\" is not a file."])
    }

    @Test("The size is bounded, and the bound itself is allowed", arguments: [0, 1])
    func size(beyond: Int) throws {
        let limit = PageOverrides.maximumBytes
        try write(String(repeating: " ", count: limit + beyond), to: "assets/bramley.css")
        let fault = "\"assets/bramley.css\" is larger than \(limit) bytes, so it cannot be the right file."
        #expect(try problems() == (beyond == 0 ? [] : [fault]))
    }

    @Test func fileThatOthersCanChangeOrThatIsNotUTF8IsRefused() throws {
        try write("body{}", to: "assets/bramley.css", mode: 0o666)
        #expect(try problems() == ["\"assets/bramley.css\" can be changed by every user of this machine."])
        try write("body{}", to: "assets/bramley.css", mode: 0o664)
        #expect(try problems() == [])
        try Data([0x62, 0xFF]).write(to: directory.appending(path: "assets/bramley.css"))
        #expect(try problems() == ["\"assets/bramley.css\" is not UTF-8."])
    }

    @Test func numberOfLanguagesIsBounded() throws {
        let letters = "abcdefghijklmnopqrstuvwxyz".map(String.init)
        let tags = letters.flatMap { first in letters.map { first + $0 } }
        for tag in tags.prefix(65) { try write("{}", to: "strings/\(tag).json") }
        #expect(try problems() == ["\"strings\" holds 65 languages."])
        try FileManager.default.removeItem(at: directory.appending(path: "strings/\(tags[0]).json"))
        #expect(try problems().allSatisfy { $0.contains("is not used") })
    }

    @Test func checkRendersEveryPage() throws {
        #expect(try checked() == nil)
        try write(
            "{{<layout}}{{$content}}<h1>{{user.nmae}}</h1>{{/content}}{{/layout}}", to: "templates/logout.mustache")
        #expect(
            try checked() == """
                error: pages.directory: "templates/logout.mustache" names "user.nmae" in line 1, which it is not \
                given. The comment in the built-in template lists what it is given: bramley pages export.
                1 error
                """)
    }

    /// Strings, templates that do not parse, names nobody gives, and what a page becomes: one does not hide another.
    @Test func checkNamesEveryProblemAtOnce() throws {
        func template(_ text: String) -> String { "{{<layout}}{{$content}}<h1>x</h1>\(text){{/content}}{{/layout}}" }
        try write(#"{"login":{"title":1,"lead":[],"nothing":"x"}}"#, to: "strings/nl.json")
        try write("{", to: "strings/de.json")
        try write("{{#user}}", to: "templates/login.mustache")
        try write("{{/user}}", to: "templates/account.mustache")
        try write("{{>nowhere}}", to: "templates/repost.mustache")
        try write(template("{{user.nmae}}"), to: "templates/logout.mustache")
        try write(template("<p onclick=\"x()\">"), to: "templates/account_deleted.mustache")
        try write("</style>", to: "assets/bramley.css")
        let text = try #require(try checked(["en", "nl", "de"]))
        for wanted in [
            "\"strings/nl.json\" cannot be read: login.title is neither",
            "\"strings/nl.json\" cannot be read: login.lead",
            "\"strings/nl.json\" has the text \"login.nothing\"", "\"strings/de.json\" cannot be read",
            "\"templates/login.mustache\" cannot be read", "\"templates/account.mustache\" cannot be read",
            "\"templates/repost.mustache\" includes \"nowhere\"", "\"templates/logout.mustache\" names \"user.nmae\"",
            "\"templates/account_deleted.mustache\" makes a page that has onclick in <p>",
            "assets/bramley.css cannot be read: it would end its own element",
        ] {
            #expect(text.ranges(of: wanted).count == 1, "\(wanted)\n\(text)")
        }
        #expect(text.hasSuffix("\n10 errors"), "\(text)")
    }

    /// What `bramley check` says; nil when all is well.
    private func checked(_ locales: [String]? = nil) throws -> String? {
        var pages: [String: Any] = ["directory": directory.path]
        if let locales { pages["locales"] = locales }
        let path = try fixture.write(fixture.configuration(["pages": pages]), to: "config.json")
        do throws(ConfigurationFailure) {
            _ = try CheckCommand.load(ConfigurationInput(path: path))
            return nil
        } catch {
            return error.description
        }
    }

    @Test func exportedFilesAreAGoodDirectory() throws {
        let target = fixture.directory.appending(path: "new/pages").path
        let count = try PagesCommand.Export.write(Self.embedded, to: target, replacing: false)
        #expect(count == Self.embedded.count)
        for (path, bytes) in Self.embedded {
            let file = "\(target)/\(path)"
            #expect(try Data(contentsOf: URL(filePath: file)) == Data(bytes))
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect((mode ?? 0o777) & 0o022 == 0)
        }
        let loaded = try fixture.load(["pages": ["directory": target]])
        #expect(loaded.warnings.isEmpty)
        #expect(loaded.configuration.web.pageOverrides == Self.embedded)
        try FileManager.default.removeItem(at: directory)
        try FileManager.default.moveItem(atPath: target, toPath: directory.path)
        #expect(try checked() == nil)
    }

    @Test func exportOverwritesOnlyOnRequest() throws {
        try write("mine", to: "assets/bramley.css")
        let place = directory.appending(path: "assets/bramley.css").path
        let failure = #expect(throws: CommandFailure.self) {
            try PagesCommand.Export.write(Self.embedded, to: directory.path, replacing: false)
        }
        #expect(failure?.description.hasPrefix("\(place) already exists. Nothing was written. ") == true)
        #expect(try String(contentsOfFile: place, encoding: .utf8) == "mine")
        #expect(!FileManager.default.fileExists(atPath: directory.appending(path: "strings/en.json").path))
        _ = try PagesCommand.Export.write(Self.embedded, to: directory.path, replacing: true)
        #expect(try Data(contentsOf: URL(filePath: place)) == Data(Self.embedded["assets/bramley.css"] ?? []))
    }

    /// What a link leads to is not ours to write.
    @Test func exportFollowsNoLink() throws {
        let outside = try fixture.write("mine", to: "outside.css")
        let place = directory.appending(path: "assets/bramley.css").path
        try linkFile(at: place, to: outside)
        #expect(throws: CommandFailure.self) {
            try PagesCommand.Export.write(Self.embedded, to: directory.path, replacing: false)
        }
        _ = try PagesCommand.Export.write(Self.embedded, to: directory.path, replacing: true)
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "mine")
        #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: place)) == nil)
    }

    @Test func exportSaysWhereItCannotWrite() throws {
        let file = try fixture.write("", to: "file")
        let failure = #expect(throws: CommandFailure.self) {
            try PagesCommand.Export.write(Self.embedded, to: file, replacing: false)
        }
        #expect(failure?.description.contains("\(file)/assets cannot be written") == true)
    }

    /// The files as the folder has them; the embedded ones are held against it elsewhere.
    private static let embedded: [String: [UInt8]] = {
        var files: [String: [UInt8]] = [:]
        for folder in ["assets", "strings", "templates"] {
            let place = packageRoot.appending(path: "Public/\(folder)")
            for name in (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? [] {
                files["\(folder)/\(name)"] = (try? Data(contentsOf: place.appending(path: name))).map { [UInt8]($0) }
            }
        }
        return files
    }()
}
