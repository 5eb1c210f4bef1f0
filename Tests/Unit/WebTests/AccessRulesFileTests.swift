import Coding
import Testing

@testable import Web

/// The access rules as an operator writes them.
@Suite struct AccessRulesFileTests {
    private func problems(_ text: String) -> [AccessRulesFile.Problem] {
        do throws(AccessRulesFile.Refusal) {
            _ = try AccessRulesFile.read(Array(text.utf8))
            return []
        } catch {
            if case .problems(let problems) = error { return problems }
            return []
        }
    }

    @Test func readsEveryMember() throws {
        let text = """
            {"rules": [
                {"host": "www.example.com", "path": "/assets/*", "allow": "public"},
                {"host": "*.example.com", "path": "/", "methods": ["GET"], "allow": "optional"},
                {"path": "/é b/", "allow": "signedIn"},
                {"host": "*", "allow": {"groups": ["Staff"], "users": ["usr_x", "Ada@Example.com"],
                    "emailDomains": ["EXAMPLE.org"]}}
            ]}
            """
        let rules = try AccessRulesFile.read(Array(text.utf8)).rules
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let expected: [AccessRules.Rule] = [
            .init(
                host: .exact(bytes("www.example.com")), path: .below(bytes("/assets")), methods: [], access: .everyone),
            .init(
                host: .below(bytes(".example.com")), path: .exact(bytes("/")), methods: [bytes("GET"), bytes("HEAD")],
                access: .optional),
            .init(host: .any, path: .exact(bytes("/é b/")), methods: [], access: .signedIn),
            .init(
                host: .any, path: .below([]), methods: [],
                access: .listed(
                    .init(
                        groups: ["Staff"], users: ["usr_x"], addresses: ["ada@example.com"],
                        domains: ["example.org"]))),
        ]
        #expect(rules == expected)
    }

    @Test(
        "Malformed JSON is refused with its position",
        arguments: [
            ("", 0), ("{\"rules\": [],}", 12), ("{\"rules\": [{\"allow\": \"public\", \"allow\": \"signedIn\"}]}", 31),
        ])
    func json(_ text: String, offset: Int) {
        #expect {
            _ = try AccessRulesFile.read(Array(text.utf8))
        } throws: { error in
            guard case .json(let flaw)? = error as? AccessRulesFile.Refusal else { return false }
            return flaw.offset == offset
        }
    }

    @Test(
        "A malformed rule is refused with its position",
        arguments: [
            ("[]", ""), ("{}", ""), ("{\"rules\": {}}", ""), ("{\"rules\": []}", ""),
            ("{\"rules\": [{\"allow\": \"public\"}], \"more\": 1}", ""), ("{\"rules\": [1]}", "rule 1"),
            ("{\"rules\": [{\"allow\": \"public\"}, {\"allow\": \"public\", \"hosts\": \"a.b\"}]}", "rule 2"),
            ("{\"rules\": [{\"host\": \"a.b\"}]}", "rule 1, allow"),
        ])
    func shape(_ text: String, place: String) {
        #expect(problems(text).map(\.place) == [place])
    }

    @Test(
        "A malformed value is refused with its position",
        arguments: [
            ("host", "\"A.example.com\""), ("host", "\"a.example.com:443\""), ("host", "\"\""), ("host", "\"*.\""),
            ("host", "\"a.*.com\""), ("host", "\"**.a.com\""), ("host", "\"*a.com\""), ("host", "\".a.com\""),
            ("host", "\"a..com\""), ("host", "\"a.com.\""), ("host", "\"https://a.com\""), ("host", "null"),
            ("host", "\"b\u{FC}cher.example\""), ("path", "\"\""), ("path", "\"a\""), ("path", "\"*\""),
            ("path", "\"/a*\""), ("path", "\"/*/b\""), ("path", "\"/a/**\""), ("path", "\"/a//b\""),
            ("path", "\"//\""), ("path", "\"//*\""), ("path", "\"/a/../b\""), ("path", "\"/./*\""),
            ("path", "\"/a%20b\""), ("path", "\"/a?b\""), ("path", "\"/a#b\""), ("path", "\"/a;b\""),
            ("path", "\"/a\\\\b\""), ("path", "\"/a\\u0000\""), ("path", "1"), ("methods", "[]"),
            ("methods", "\"GET\""), ("methods", "[\"get\"]"), ("methods", "[\"GET\", \"GET\"]"),
            ("methods", "[1]"), ("methods", "[\"\"]"), ("allow", "\"all\""), ("allow", "\"Public\""),
            ("allow", "true"), ("allow", "[\"public\"]"), ("allow", "{}"), ("allow", "{\"group\": [\"a\"]}"),
            ("allow.groups", "{\"groups\": []}"), ("allow.groups", "{\"groups\": \"a\"}"),
            ("allow.users", "{\"users\": [\"ada\"]}"), ("allow.users", "{\"users\": [\"usr_\"]}"),
            ("allow.users", "{\"users\": [\"*@example.com\"]}"), ("allow.users", "{\"users\": [\"a@b@c.d\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"@example.com\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"*.example.com\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"com\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"PrivateRelay.AppleID.com\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"private.icloud.com\"]}"),
            ("allow.emailDomains", "{\"emailDomains\": [\"\u{212A}.example\"]}"),
        ])
    func value(_ place: String, json: String) {
        let member = place.prefix { $0 != "." }
        let others = member == "allow" ? "" : ", \"allow\": \"public\""
        #expect(problems("{\"rules\": [{\"\(member)\": \(json)\(others)}]}").map(\.place) == ["rule 1, \(place)"])
    }

    @Test func everyProblemIsReportedAtOnce() {
        let text = "{\"rules\": [{\"host\": \"A\", \"path\": \"b\", \"methods\": [], \"x\": 1}, {\"allow\": \"no\"}]}"
        #expect(
            problems(text).map(\.place)
                == ["rule 1", "rule 1, host", "rule 1, path", "rule 1, methods", "rule 1, allow", "rule 2, allow"])
    }

    @Test func asManyRulesAsAllowedAndNoMore() {
        func text(_ count: Int) -> String {
            "{\"rules\": [" + Array(repeating: "{\"allow\": \"public\"}", count: count).joined(separator: ",") + "]}"
        }
        #expect(problems(text(1_000)) == [])
        #expect(problems(text(1_001)).count == 1)
    }

    @Test(
        "An unreachable rule is reported",
        arguments: [
            ("{\"allow\": \"public\"}", "{\"host\": \"a.b\", \"path\": \"/x\", \"allow\": \"signedIn\"}", true),
            ("{\"host\": \"*.b.c\", \"allow\": \"public\"}", "{\"host\": \"*.a.b.c\", \"allow\": \"public\"}", true),
            ("{\"host\": \"*.b.c\", \"allow\": \"public\"}", "{\"host\": \"b.c\", \"allow\": \"public\"}", false),
            ("{\"host\": \"*.b.c\", \"allow\": \"public\"}", "{\"allow\": \"public\"}", false),
            ("{\"path\": \"/a/*\", \"allow\": \"public\"}", "{\"path\": \"/a\", \"allow\": \"public\"}", true),
            ("{\"path\": \"/a/*\", \"allow\": \"public\"}", "{\"path\": \"/a/b/*\", \"allow\": \"public\"}", true),
            ("{\"path\": \"/a/b/*\", \"allow\": \"public\"}", "{\"path\": \"/a/*\", \"allow\": \"public\"}", false),
            ("{\"path\": \"/a/*\", \"allow\": \"public\"}", "{\"path\": \"/ab\", \"allow\": \"public\"}", false),
            ("{\"path\": \"/a\", \"allow\": \"public\"}", "{\"path\": \"/a/*\", \"allow\": \"public\"}", false),
            ("{\"methods\": [\"GET\"], \"allow\": \"public\"}", "{\"allow\": \"public\"}", false),
            (
                "{\"methods\": [\"GET\"], \"allow\": \"public\"}", "{\"methods\": [\"HEAD\"], \"allow\": \"public\"}",
                true
            ),
        ])
    func unreachable(_ first: String, second: String, isNoticed: Bool) throws {
        let rules = try AccessRulesFile.read(Array("{\"rules\": [\(first), \(second)]}".utf8))
        #expect(rules.unreachable.map(\.rule) == (isNoticed ? [1] : []))
    }
}
