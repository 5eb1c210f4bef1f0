import Bramley
import Testing

@testable import Accounts

/// Lines as other products export them.
@Suite struct ImportFormatTests {
    static let subject = "001234.0123456789abcdef.0001"

    struct Case: Sendable, CustomTestStringConvertible {
        var format: ImportFormat
        var line: String
        var externalID: String?
        var email: EmailAddress?
        var name = PersonName()
        var isDisabled = false
        var testDescription: String { "\(format.rawValue): \(line)" }
    }

    static let relay = EmailAddress(address: "x@privaterelay.appleid.com", isVerified: true, isPrivate: true)
    static let real = EmailAddress(address: "ann@example.com", isVerified: true, isPrivate: false)

    static let cases = [
        Case(
            format: .auth0,
            line: """
                {"user_id":"apple|\(subject)","email":"ann@example.com","email_verified":true,"given_name":"Ann",\
                "family_name":"Lee","name":"Ann Lee","identities":[{"connection":"apple","provider":"apple",\
                "user_id":"\(subject)","isSocial":true}],"app_metadata":{"a":{"b":[1,{"c":null}]}}}
                """, externalID: "apple|\(subject)", email: real, name: PersonName(given: "Ann", family: "Lee")),
        // The fields of an export that names none.
        Case(
            format: .auth0,
            line: #"{"user_id":"apple|\#(subject)","email":"ann@example.com","name":"ann@example.com"}"#,
            externalID: "apple|\(subject)",
            email: EmailAddress(address: "ann@example.com", isVerified: false, isPrivate: false)),
        // Linked to another account.
        Case(
            format: .auth0,
            line:
                #"{"user_id":"auth0|1","identities":[{"provider":"auth0","user_id":"1"},{"provider":"apple","user_id":"\#(subject)"}]}"#,
            externalID: "auth0|1"),
        Case(
            format: .firebase,
            line: """
                {"localId":"uid1","email":"x@privaterelay.appleid.com","emailVerified":true,"displayName":"Ann Lee",\
                "lastSignedInAt":"1700000000000","providerUserInfo":[{"providerId":"google.com","rawId":"1"},\
                {"providerId":"apple.com","rawId":"\(subject)","email":"x@privaterelay.appleid.com"}]}
                """, externalID: "uid1", email: relay, name: PersonName(given: "Ann Lee")),
        Case(
            format: .keycloak,
            line: """
                {"id":"4f1c","username":"ann","email":"ann@example.com","emailVerified":true,"firstName":"Ann",\
                "lastName":"Lee","enabled":true,"federatedIdentities":[{"identityProvider":"apple",\
                "userId":"\(subject)","userName":"ann"}]}
                """, externalID: "4f1c", email: real, name: PersonName(given: "Ann", family: "Lee")),
        Case(
            format: .supabase,
            line: """
                {"provider_id":"\(subject)","user_id":"d0c1","provider":"apple","email":"x@privaterelay.appleid.com",\
                "identity_data":{"iss":"https://appleid.apple.com","sub":"\(subject)","email":"x@privaterelay.appleid.com",\
                "email_verified":true,"full_name":"Ann Lee","custom_claims":{"is_private_email":true}}}
                """, externalID: "d0c1", email: relay, name: PersonName(given: "Ann Lee")),
        Case(
            format: .nextAuth,
            line: """
                {"provider":"apple","type":"oauth","providerAccountId":"\(subject)","userId":"cl1","name":"Ann Lee",\
                "email":"ann@example.com","emailVerified":"2024-01-01T00:00:00"}
                """, externalID: "cl1", email: real, name: PersonName(given: "Ann Lee")),
        Case(
            format: .nextAuth,
            line: #"{"provider":"apple","providerAccountId":"\#(subject)","userId":"cl1","emailVerified":null}"#,
            externalID: "cl1"),
    ]

    @Test(arguments: cases)
    func readsThePerson(_ one: Case) throws {
        let line = try #require(try ImportLine.parse(Array(one.line.utf8), from: one.format, clientIDs: []))
        #expect(line.subject.rawValue == Self.subject)
        #expect(line.externalID == one.externalID)
        #expect(line.email == one.email)
        #expect(line.name == one.name)
        #expect(line.isDisabled == one.isDisabled)
        #expect(line.credential == nil)
    }

    private static func read(_ format: ImportFormat, _ line: String) throws -> ImportLine {
        try #require(try ImportLine.parse(Array(line.utf8), from: format, clientIDs: []))
    }

    @Test(
        "A person who was blocked in the old product is imported as disabled",
        arguments: [
            (.firebase, #""disabled":true"#, true), (.firebase, #""disabled":"true""#, true),
            (.firebase, #""disabled":false"#, false), (.firebase, #""disabled":null"#, false),
            (.keycloak, #""enabled":false"#, true), (.keycloak, #""enabled":"false""#, true),
            (.keycloak, #""enabled":0"#, true), (.keycloak, #""enabled":true"#, false),
            (.keycloak, #""enabled":null"#, false),
            (.auth0, #""blocked":true"#, true), (.auth0, #""blocked":1"#, true), (.auth0, #""blocked":false"#, false),
            (.auth0, #""blocked":"""#, false),
            (.supabase, #""disabled":true"#, true), (.supabase, #""banned_until":"2124-01-01T00:00:00Z""#, true),
            (.supabase, #""banned_until":null"#, false), (.supabase, #""deleted_at":"2024-01-01""#, true),
            (.bramley, #""disabled":true"#, true), (.bramley, #""disabled":"false""#, false),
        ] as [(ImportFormat, String, Bool)])
    func blockedIsDisabled(format: ImportFormat, member: String, isDisabled: Bool) throws {
        #expect(try Self.read(format, Self.line(format, member)).isDisabled == isDisabled)
    }

    @Test(
        arguments: [
            (.firebase, #""disabled":"no idea""#), (.keycloak, #""enabled":[]"#), (.auth0, #""blocked":2"#),
            (.bramley, #""disabled":1"#),
        ] as [(ImportFormat, String)])
    func recordWithAnUnclearBlockIsRefused(format: ImportFormat, member: String) {
        #expect(throws: InputFlaw.self) { try Self.read(format, Self.line(format, member)) }
    }

    /// The least that names a person, with one more member.
    private static func line(_ format: ImportFormat, _ member: String) -> String {
        let person =
            switch format {
            case .bramley: #""appleSubject":"\#(subject)""#
            case .auth0: #""user_id":"apple|\#(subject)""#
            case .firebase: #""providerUserInfo":[{"providerId":"apple.com","rawId":"\#(subject)"}]"#
            case .keycloak: #""federatedIdentities":[{"identityProvider":"apple","userId":"\#(subject)"}]"#
            case .supabase: #""provider":"apple","provider_id":"\#(subject)""#
            case .nextAuth: #""provider":"apple","providerAccountId":"\#(subject)""#
            }
        return "{\(person),\(member)}"
    }

    @Test(
        "An address is verified by the rules of a sign-in, or by a time",
        arguments: [
            ("true", true), (#""true""#, true), (#""2024-01-01T00:00:00""#, true), (#""2024-01-01 10:00:00+00""#, true),
            ("1704067200000", true), ("false", false), ("0", false), (#""""#, false), ("null", false), ("1", false),
            (#""false""#, false), ("[]", false), (#""0""#, false), (#""unknown-10-10""#, false),
            (#""0000-00-00 00:00:00""#, false), (#""1970-01-01T00:00:00.000Z""#, false),
            (#""1970-01-01""#, false), ("-1", false), (#""Invalid Date""#, false),
        ])
    func verifiedAddress(value: String, isVerified: Bool) throws {
        let line = Self.line(.nextAuth, #""email":"ann@example.com","emailVerified":\#(value)"#)
        #expect(try Self.read(.nextAuth, line).email?.isVerified == isVerified)
        guard !isVerified || value.contains("true") else { return }
        let firebase = Self.line(.firebase, #""email":"ann@example.com","emailVerified":\#(value)"#)
        #expect(try Self.read(.firebase, firebase).email?.isVerified == isVerified)
    }

    static let apple = #"{"provider":"apple","user_id":"\#(subject)""#

    /// An account's own address is the address of the provider it was made with.
    @Test(
        "Another provider's address is ignored",
        arguments: [
            (
                .auth0,
                #"{"user_id":"auth0|1","email":"corp@example.com","email_verified":true,"identities":[{"provider":"auth0","user_id":"1"},\#(apple)}]}"#,
                nil
            ),
            (
                .auth0,
                #"{"user_id":"auth0|1","email":"corp@example.com","email_verified":true,"identities":[{"provider":"auth0","user_id":"1"},\#(apple),"profileData":{"email":"x@privaterelay.appleid.com","email_verified":"true","is_private_email":"true"}}]}"#,
                relay
            ),
            // The list names Apple's alone, the id another.
            (
                .auth0,
                #"{"user_id":"google-oauth2|1","email":"corp@example.com","email_verified":true,"identities":[\#(apple)}]}"#,
                nil
            ),
            // Apple's identity made the account.
            (
                .auth0,
                #"{"user_id":"apple|\#(subject)","email":"ann@example.com","email_verified":true,"identities":[\#(apple)},{"provider":"auth0","user_id":"1"}]}"#,
                real
            ),
            (
                .firebase,
                #"{"email":"corp@example.com","emailVerified":true,"providerUserInfo":[{"providerId":"google.com","rawId":"g","email":"corp@example.com"},{"providerId":"apple.com","rawId":"\#(subject)","email":"x@privaterelay.appleid.com"}]}"#,
                EmailAddress(address: "x@privaterelay.appleid.com", isVerified: false, isPrivate: true)
            ),
            (
                .firebase,
                #"{"email":"corp@example.com","emailVerified":true,"passwordHash":"aGFzaA","providerUserInfo":[{"providerId":"apple.com","rawId":"\#(subject)"}]}"#,
                nil
            ),
            (
                .keycloak,
                #"{"email":"corp@example.com","emailVerified":true,"credentials":[{"type":"password"}],"federatedIdentities":[{"identityProvider":"apple","userId":"\#(subject)"}]}"#,
                nil
            ),
            (
                .keycloak,
                #"{"email":"corp@example.com","emailVerified":true,"federatedIdentities":[{"identityProvider":"google","userId":"g"},{"identityProvider":"apple","userId":"\#(subject)"}]}"#,
                nil
            ),
            (
                .nextAuth,
                #"{"provider":"apple","providerAccountId":"\#(subject)","email":"corp@example.com","emailVerified":"2024-01-01","otherAccounts":true}"#,
                nil
            ),
            (
                .nextAuth,
                #"{"provider":"apple","providerAccountId":"\#(subject)","email":"ann@example.com","emailVerified":"2024-01-01","otherAccounts":false}"#,
                real
            ),
        ] as [(ImportFormat, String, EmailAddress?)])
    func ownAddress(format: ImportFormat, line: String, email: EmailAddress?) throws {
        let read = try Self.read(format, line)
        #expect(read.subject.rawValue == Self.subject)
        #expect(read.email == email)
    }

    @Test func furtherAppleIdentitiesAreNamed() throws {
        let line =
            #"{"user_id":"apple|b","identities":[{"provider":"apple","user_id":"a"},{"provider":"apple","user_id":"b"},{"provider":"apple","user_id":"a"}]}"#
        let read = try Self.read(.auth0, line)
        // The one that made the account is the person's.
        #expect(read.subject.rawValue == "b")
        #expect(read.otherSubjects == ["a"])
    }

    @Test func idsMayBeNumbers() throws {
        let line = #"{"localId":7,"providerUserInfo":[{"providerId":"apple.com","rawId":1}]}"#
        let read = try Self.read(.firebase, line)
        #expect(read.subject.rawValue == "1" && read.externalID == "7")
    }

    /// As at a sign-in: the person counts, not the address.
    @Test(arguments: ["nobody", "a@b@c", "a b@example.com", ""])
    func malformedAddressIsLeftOut(address: String) throws {
        let read = try Self.read(.firebase, Self.line(.firebase, #""email":"\#(address)","emailVerified":true"#))
        #expect(read.email == nil)
    }

    @Test func anAddressMayBeOfAnyScript() throws {
        let read = try Self.read(.firebase, Self.line(.firebase, #""email":"zoë@exämple.com","emailVerified":true"#))
        #expect(read.email == EmailAddress(address: "zoë@exämple.com", isVerified: true, isPrivate: false))
        #expect(read.email?.forApplications == nil)
    }

    @Test(
        "An import that finds nobody says what to check",
        arguments: [
            (.firebase, [#"{"localId":"1","providerUserInfo":[]}"#], "update it and export again"),
            (.auth0, [#"[{"user_id":"1"}]"#], "jq -c"),
            (.keycloak, ["{", #"  "realm": "r","#], "jq -c"),
            (.auth0, [#"{"appleSubject":"1"}"#], "--from bramley"), (.keycloak, [#"{"id":"1"}"#], "alias"),
            (.supabase, [#"{"id":"1"}"#], "auth.identities"),
            (.firebase, [#"{"users":[{"localId":"a"}]}"#], "jq -c '.users[]'"),
            (.firebase, [#"{"provider":"apple","providerAccountId":"1","userId":"u"}"#], "--from next-auth"),
            (.nextAuth, [#"{"providerId":"apple","accountId":"1","userId":"u"}"#], "Account"),
        ] as [(ImportFormat, [String], String)])
    func advice(format: ImportFormat, lines: [String], says: String) {
        var advice = ImportAdvice(format)
        for line in lines { advice.inspect(Array(line.utf8)) }
        #expect(advice.text.contains(says), "\(advice.text)")
    }

    @Test(
        "Accounts without an Apple identity are skipped",
        arguments: [
            (.auth0, #"{"user_id":"google-oauth2|1","email":"a@example.com"}"#),
            (.auth0, #"{"user_id":"apple|1","identities":[{"provider":"google-oauth2","user_id":"1"}]}"#),
            (.firebase, #"{"localId":"1","providerUserInfo":[{"providerId":"google.com","rawId":"1"}]}"#),
            (.firebase, #"{"localId":"1","providerUserInfo":"apple.com"}"#),
            (.keycloak, #"{"id":"1","federatedIdentities":[{"identityProvider":"google","userId":"1"}]}"#),
            (.keycloak, #"{"id":"1"}"#),
            (.supabase, #"{"provider":"google","provider_id":"1","user_id":"1","identity_data":{"sub":"1"}}"#),
            (.nextAuth, #"{"provider":"google","providerAccountId":"1","userId":"1"}"#),
        ] as [(ImportFormat, String)])
    func skipsOthers(format: ImportFormat, line: String) throws {
        #expect(try ImportLine.parse(Array(line.utf8), from: format, clientIDs: []) == nil)
    }

    @Test(
        "Malformed subjects and members of another type are refused",
        arguments: [
            (.auth0, #"{"user_id":"apple|"}"#),
            (.firebase, #"{"providerUserInfo":[{"providerId":"apple.com","rawId":1.5}]}"#),
            (.keycloak, #"{"id":true,"federatedIdentities":[{"identityProvider":"apple","userId":"1"}]}"#),
            (.supabase, #"{"provider":"apple","provider_id":"a b"}"#),
            (.nextAuth, #"{"provider":"apple","providerAccountId":"1","name":{"given":"Ann"}}"#),
            (.auth0, #"["apple|1"]"#), (.auth0, "{"),
        ] as [(ImportFormat, String)])
    func refusesInvalidValues(format: ImportFormat, line: String) {
        #expect(throws: InputFlaw.self) {
            try ImportLine.parse(Array(line.utf8), from: format, clientIDs: [])
        }
    }
}
