import Bramley
import RelyingParty
import Testing

/// Lines as other products export them.
@Suite struct ImportFormatTests {
    static let subject = "001234.0123456789abcdef.0001"

    struct Case: Sendable, CustomTestStringConvertible {
        var format: ImportFormat
        var line: String
        var externalID: String?
        var email: EmailAddress?
        var name = PersonName()
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
        #expect(line.credential == nil)
    }

    @Test(
        "Who has no Apple identity is nobody here",
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
        "What is no subject, and what is no text, is refused",
        arguments: [
            (.auth0, #"{"user_id":"apple|"}"#),
            (.firebase, #"{"providerUserInfo":[{"providerId":"apple.com","rawId":1}]}"#),
            (.keycloak, #"{"id":7,"federatedIdentities":[{"identityProvider":"apple","userId":"1"}]}"#),
            (.supabase, #"{"provider":"apple","provider_id":"a b"}"#),
            (.nextAuth, #"{"provider":"apple","providerAccountId":"1","name":{"given":"Ann"}}"#),
            (.auth0, #"["apple|1"]"#), (.auth0, "{"),
        ] as [(ImportFormat, String)])
    func refusesWhatCannotBe(format: ImportFormat, line: String) {
        #expect(throws: ImportLineError.self) {
            try ImportLine.parse(Array(line.utf8), from: format, clientIDs: [])
        }
    }
}
