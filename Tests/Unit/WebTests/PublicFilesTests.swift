import Coding
import Foundation
import HTTP
import HTTPTypes
import Public
import Sockets
import Testing
import Web

@testable import Accounts

@Suite struct PublicFilesTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Public")
        .standardized

    @Test func everyFileIsEmbeddedAsItIs() throws {
        var found: Set<String> = []
        for part in ["assets", "templates", "strings"] {
            for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: part).path) {
                let path = "\(part)/\(name)"
                found.insert(path)
                let content = try Data(contentsOf: Self.folder.appending(path: path))
                #expect(EmbeddedFiles.content(of: path) == Array(content), "\(path)")
            }
        }
        #expect(found == Set(EmbeddedFiles.all.keys))
    }

    @Test func everyTextATemplateNamesExists() throws {
        let bytes = try #require(EmbeddedFiles.content(of: "strings/en.json"))
        let strings = try JSONReader.parse(bytes)
        for (path, content) in EmbeddedFiles.all where path.hasPrefix("templates/") {
            for match in String(decoding: content, as: UTF8.self).matches(of: /\{\{[#^]?t\.([A-Za-z_.]+)\}\}/) {
                var value: JSONValue? = strings
                for key in match.1.split(separator: ".") { value = value?.objectValue?[String(key)] }
                #expect(value?.stringValue != nil, "\(path): \(match.1)")
            }
        }
    }

    @Test func pagesLoadNothingFromElsewhereExceptApple() {
        for (path, content) in EmbeddedFiles.all where !path.hasPrefix("strings/") {
            let text = String(decoding: content, as: UTF8.self)
            for match in text.matches(of: /https?:\/\/[a-z0-9.-]+/) {
                #expect(["https://account.apple.com", "http://www.w3.org"].contains(String(match.0)), "\(path)")
            }
        }
    }

    @Test(
        "Broken overrides are one clear line",
        arguments: [
            ("templates/login.mustache", "{{#open}}", "templates/login.mustache"),
            ("strings/en.json", "{", "strings/en.json"), ("strings/en.json", #"{"a":1}"#, "strings/en.json"),
        ])
    func broken(_ path: String, content: String, mention: String) throws {
        let error = #expect(throws: PagesError.self) {
            _ = try Site(adjust: { $0.pageOverrides[path] = Array(content.utf8) })
        }
        #expect(error?.description.contains(mention) == true)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func overrideReplacesOneFile() async throws {
        let site = try Site(adjust: { $0.pageOverrides["assets/bramley.css"] = Array("body{}".utf8) })
        #expect(await site.get("/assets/bramley.css").text == "body{}")
        #expect(await site.get("/assets/login.js").status == .ok)
    }

    @Test(
        "publicURL taken apart",
        arguments: [
            ("https://login.example.com", "https://login.example.com", ""),
            ("https://login.example.com/", "https://login.example.com", ""),
            ("https://example.com/a/b/", "https://example.com", "/a/b"),
            ("http://localhost:8080", "http://localhost:8080", ""), ("http://[::1]:8080/x", "http://[::1]:8080", "/x"),
        ])
    func publicURL(_ text: String, origin: String, path: String) throws {
        let url = try #require(PublicURL(text))
        #expect(url.origin == origin)
        #expect(url.basePath == path)
    }

    @Test(
        "publicURL refused",
        arguments: [
            "", "example.com", "ftp://example.com", "https://", "https://Example.com", "https://example.com:443",
            "http://example.com:80", "https://u@example.com", "https://example.com/?a", "https://example.com/#a",
            "https://example.com/a b", "https://exämple.com",
        ])
    func publicURLRefused(_ text: String) {
        #expect(PublicURL(text) == nil)
    }
}
