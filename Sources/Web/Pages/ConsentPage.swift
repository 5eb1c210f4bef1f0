import Accounts
import Coding

extension PageValue {
    /// The page on which a person allows an application on their own machine to sign them in.
    ///
    /// - Parameters:
    ///   - application: its name.
    ///   - fields: of the authorization request, and the ticket.
    ///   - target: where the request continues after a sign-in with another account; nil where that is too long.
    static func consent(
        to application: String, _ program: LocalProgram, scopes: [OpenIDScope], of user: User, fields: [FormField],
        target: String?, strings: Strings
    ) -> PageValue {
        let name = PersonText.accountName(of: user) ?? strings["account.someone"]
        return [
            "user": .person(user, strings: strings),
            "consent": [
                "heading": .text(strings.text("consent.heading", ["program": application])),
                "account": strings.html("consent.account", ["name": name]),
                "program": .text(strings[program == .loopback ? "consent.computer" : "consent.app"]),
                "receives": .received(scopes, strings: strings),
                "isOffline": .flag(scopes.contains(.offlineAccess)), "returnTo": .optional(target),
            ],
            "fields": .hidden(fields.map { ($0.name, $0.value) }),
        ]
    }
}
