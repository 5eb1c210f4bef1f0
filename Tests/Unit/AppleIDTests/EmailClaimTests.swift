import AppleID
import Coding
import IndependentSigning
import Testing

@testable import Accounts

struct EmailClaimTests {
    private func email(_ claims: Claims) async throws -> EmailAddress? {
        let apple = try Apple()
        return try await apple.provider.verify(
            identityToken: try apple.signer.token(claims), authorizationCode: "c0de", nonce: "n0nce",
            clientIDs: [ClientID(Apple.servicesID)]
        ).email
    }

    /// Strings until February 2024, booleans since; nothing else counts as verified or private.
    @Test(
        arguments: [
            (true, true), ("true", true), (false, false), ("false", false), (nil, false), (.null, false), (1, false),
            ("True", false), ("TRUE", false), ("true ", false), ("1", false), ("yes", false), ([true], false),
            (["true"], false), ("", false),
        ] as [(JSONValue?, Bool)])
    func readsFlags(value: JSONValue?, isTrue: Bool) async throws {
        let claims = Claims.identity().setting("email_verified", value).setting("is_private_email", value)
        let email = try await email(claims)
        #expect(email == EmailAddress(address: "ada@example.com", isVerified: isTrue, isPrivate: isTrue))
    }

    @Test func theDomainDoesNotImplyPrivacy() async throws {
        let claims = Claims.identity().setting("email", "abc@privaterelay.appleid.com")
        #expect(try await email(claims)?.isPrivate == false)
    }

    @Test(arguments: [
        "a@b", "ada.lovelace+news@mail.example.com", "o'brien@example.com", "x_1@example.co.uk",
        "zoë@example.com", "ada@exämple.com", "李@例え.jp", "उदाहरण@example.com",
        String(repeating: "l", count: 64) + "@" + String(repeating: "d", count: 185) + ".com",
    ])
    func keepsAnAddress(address: String) async throws {
        #expect(try await email(Claims.identity().setting("email", .string(address)))?.address == address)
    }

    @Test(arguments: [
        "", " ", "ada", "@example.com", "ada@", "a@b@c", "ada@exa mple.com", "ada@example.com\r\nX-Evil: 1",
        "ada\u{200B}@example.com", "ada\u{202E}@example.com", "ada@example\u{3002}com", "ada@\u{3164}.com",
        "\"a b\"@example.com", "<ada@example.com>", "ada@[127.0.0.1]",
        ".ada@example.com", "a..b@example.com", "ada@example.com.", "ada@example..com",
        "ada,eve@example.com", "ada@example.com\u{0}", "ada@example_1.com",
        String(repeating: "l", count: 65) + "@example.com",
        String(repeating: "l", count: 64) + "@" + String(repeating: "d", count: 186) + ".com",
    ])
    func unsafeAddressIsIgnored(address: String) async throws {
        #expect(try await email(Claims.identity().setting("email", .string(address))) == nil)
    }

    @Test(arguments: [nil, .null, 1, ["ada@example.com"], true] as [JSONValue?])
    func addressOfAnotherTypeIsIgnored(value: JSONValue?) async throws {
        #expect(try await email(Claims.identity().setting("email", value)) == nil)
    }
}
