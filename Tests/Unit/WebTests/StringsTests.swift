import Coding
import Foundation
import Public
import Testing
import Web

/// Every language against English, which is complete by definition.
///
/// A new text fails here with the list of keys each language lacks: translate them, in `Public/strings/`.
@Suite struct StringsTests {
    static let languages = PageLanguages.builtIn

    /// Dotted keys and their texts.
    static func texts(_ language: String) throws -> [String: String] {
        let bytes = try #require(EmbeddedFiles.content(of: "strings/\(language).json"))
        var texts: [String: String] = [:]
        func read(_ value: JSONValue, _ key: String) {
            if let text = value.stringValue { texts[key] = text }
            for member in value.objectValue?.members ?? [] {
                read(member.value, key.isEmpty ? member.name : "\(key).\(member.name)")
            }
        }
        read(try JSONReader.parse(bytes), "")
        return texts
    }

    static func placeholders(_ text: String) -> [String] {
        text.matches(of: /\{([A-Za-z]+)\}/).map { String($0.1) }.sorted()
    }

    @Test func builtInLanguagesAreTheFiles() {
        let files = EmbeddedFiles.all.keys.filter { $0.hasPrefix("strings/") }
        #expect(Set(files) == Set(Self.languages.map { "strings/\($0).json" }))
        #expect(Self.languages.first == "en")
        #expect(Self.languages.allSatisfy(PageLanguages.isCanonical))
    }

    @Test("Every language has exactly the texts of English", arguments: languages)
    func keys(_ language: String) throws {
        let (english, own) = (try Self.texts("en"), try Self.texts(language))
        let missing = Set(english.keys).subtracting(own.keys).sorted()
        let unknown = Set(own.keys).subtracting(english.keys).sorted()
        #expect(missing.isEmpty, "to be translated in \(language).json: \(missing.joined(separator: ", "))")
        #expect(unknown.isEmpty, "in \(language).json and not in en.json: \(unknown.joined(separator: ", "))")
    }

    @Test("Every text has English's placeholders, and is empty where English is", arguments: languages)
    func placeholders(_ language: String) throws {
        let (english, own) = (try Self.texts("en"), try Self.texts(language))
        for (key, text) in own {
            #expect(Self.placeholders(text) == Self.placeholders(english[key] ?? ""), "\(language) \(key)")
            #expect(text.isEmpty == (english[key] ?? "").isEmpty, "\(language) \(key)")
        }
    }

    @Test("Every text is translated, and is plain text", arguments: languages.dropFirst())
    func translated(_ language: String) throws {
        let english = try Self.texts("en")
        // The same word in both languages.
        let alike: Set<String> = [
            "account.name", "account.app", "account.email", "operator.actors.apple", "operator.actors.application",
            "operator.columns.host", "operator.columns.id", "operator.columns.name", "operator.columns.person",
            "operator.columns.program", "operator.columns.secret", "operator.columns.team", "operator.columns.type",
            "operator.columns.version", "operator.states.active", "operator.tabs.clients",
            "operator.tabs.notifications", "operator.tabs.server", "operator.tabs.sessions", "operator.tabs.webhooks",
            "operator.settings", "message.appleAccount", "device.code",
        ]
        for (key, text) in try Self.texts(language) where !text.isEmpty {
            #expect(text != english[key] || alike.contains(key), "\(language) \(key) is English")
            #expect(!text.contains("<") && !text.contains("&") && !text.contains("  "), "\(language) \(key)")
            #expect(text == text.trimmingCharacters(in: .whitespaces), "\(language) \(key)")
        }
    }

    @Test(
        "Apple's terms are Apple's own",
        arguments: [
            ("en", "Sign in with Apple", "Apple Account", "Hide My Email"),
            ("de", "Mit Apple anmelden", "Apple Account", "E-Mail-Adresse verbergen"),
            ("fr", "Connexion avec Apple", "compte Apple", "Masquer mon adresse e\u{2011}mail"),
            ("es", "Iniciar sesión con Apple", "cuenta de Apple", "Ocultar mi correo electrónico"),
            ("ja", "Appleでサインイン", "Apple Account", "メールを非公開"),
            ("ko", "Apple로 로그인", "Apple 계정", "나의 이메일 가리기"),
            ("zh-Hans", "通过 Apple 登录", "Apple 账户", "隐藏邮件地址"),
            ("ar", "تسجيل الدخول باستخدام Apple", "حساب Apple", "إخفاء بريدي الإلكتروني"),
        ])
    func apple(_ language: String, button: String, account: String, hide: String) throws {
        let texts = try Self.texts(language)
        #expect(texts["login.button"] == button)
        #expect(texts["errors.client_refused.title"]?.contains(button) == true)
        #expect(texts["login.lead"]?.contains(account) == true)
        #expect(texts["account.forwardingOff"]?.contains(hide) == true)
        #expect(texts["login.sharingBoth"]?.contains(hide) == true)
    }

    @Test("The warning about a device's code names the button that refuses", arguments: languages)
    func refusal(_ language: String) throws {
        let texts = try Self.texts(language)
        let button = try #require(texts["consent.deny"])
        #expect(texts["device.warning"]?.contains(button) == true)
    }

    @Test("In French no line begins with punctuation: its spaces do not break")
    func frenchSpaces() throws {
        for (key, text) in try Self.texts("fr") { #expect(!text.contains(#/ [:;?!»]|« /#), "\(key)") }
    }
}
