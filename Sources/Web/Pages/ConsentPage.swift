import Accounts
import Coding

extension PageValue {
    /// The page on which a person allows a third-party application, or one on their own machine.
    ///
    /// - Parameters:
    ///   - redirectURI: where the answer goes; nil for none.
    ///   - fields: of the authorization request, and the ticket.
    ///   - target: where the request continues after a sign-in with another account; nil where that is too long.
    static func consent(
        to client: OpenIDClient, at redirectURI: String?, scopes: [OpenIDScope], services: [Service], of user: User,
        fields: [FormField], target: String?, strings: Strings
    ) -> PageValue {
        let program = redirectURI.flatMap { LocalProgram(redirectURI: $0) }
        let place = program.map { strings[$0 == .loopback ? "consent.onComputer" : "consent.onDevice"] }
        let name = PersonText.accountName(of: user) ?? strings["account.someone"]
        let heading = client.isForeign || !services.isEmpty ? "consent.foreign" : "consent.heading"
        let own: [PageValue] = scopes.contains(.openid) ? [["text": .text(strings["consent.identity"])]] : []
        let received = own + received(scopes, strings: strings)
        let document = client.document.flatMap(host(of:))
        let returns = place ?? redirectURI.flatMap(host(of:))
        return [
            "user": .person(user, strings: strings),
            "consent": [
                "heading": .text(strings.text(heading, ["program": PlainLine.shown(client.name)])),
                "account": strings.html("consent.account", ["name": name]),
                "isForeign": .flag(client.isForeign), "hasOrigin": .flag(document != nil || returns != nil),
                "document": .optional(document), "returns": .optional(returns),
                "program": .optional(program.map { strings[$0 == .loopback ? "consent.computer" : "consent.app"] }),
                "isTold": .flag(!received.isEmpty), "receives": .list(received),
                "services": .list(self.services(services, scopes: scopes, strings: strings)),
                "isOffline": .flag(scopes.contains(.offlineAccess)), "returnTo": .optional(target),
            ],
            "fields": .hidden(fields.map { ($0.name, $0.value) }),
        ]
    }

    /// What an application learns with these scopes, each with `text`.
    static func received(_ scopes: [OpenIDScope], strings: Strings) -> [PageValue] {
        OpenIDScope.claims.filter(scopes.contains).map {
            ["text": .text(strings["login.programReceives.\($0.rawValue)"])]
        }
    }

    /// What an application may do at these services with these scopes, in the services' words.
    static func services(_ services: [Service], scopes: [OpenIDScope], strings: Strings) -> [PageValue] {
        services.map { service in
            let meanings = service.scopes.filter { scopes.contains($0.scope) }.map { PlainLine.shown($0.meaning) }
            return [
                "service": strings.html("consent.service", ["service": PlainLine.shown(service.name)]),
                "does": .list(
                    (meanings.isEmpty ? [strings["consent.access"]] : meanings).map { ["text": .text($0)] }),
            ]
        }
    }

    /// As a browser shows it: a name of other letters in its ASCII form.
    static func host(of url: String) -> String? {
        AbsoluteURL(url).map { PlainLine.shown(String($0.authority)) }
    }
}

extension OpenIDClient {
    /// For pages that do not say that nobody has verified the name: a document's client has chosen its own.
    var provenName: String { document.flatMap(PageValue.host(of:)) ?? name }
}

extension PageValue {
    /// The page on which a device's code is entered.
    static func device(_ code: DeviceUserCode?, isWrong: Bool = false) -> PageValue {
        ["device": ["code": .optional(code?.text), "isWrong": .flag(isWrong)]]
    }

    /// The page on which a person allows a device's request: that of other applications, with where it came from.
    ///
    /// - Parameters:
    ///   - device: that asked.
    ///   - ticket: in its field of the form.
    ///   - target: where another account continues.
    static func device(
        code: String, on device: Device, scopes: [OpenIDScope], services: [Service], of client: OpenIDClient,
        for user: User, ticket: FormField, target: String?, strings: Strings
    ) -> PageValue {
        let fields = [FormField(name: "user_code", value: code), ticket]
        let description = DeviceDescription.text(of: device, strings: strings)
        let place = device.address + (description.map { " (\($0))" } ?? "")
        return consent(
            to: client, at: nil, scopes: scopes, services: services, of: user, fields: fields, target: target,
            strings: strings
        ).merging([
            "consent": [
                "heading": .text(strings.text("device.asks", ["program": PlainLine.shown(client.name)])),
                "place": strings.html(
                    // Not broken at its hyphen.
                    "device.place", ["code": code.replacing("-", with: "\u{2011}"), "place": place]),
                "program": .text(strings["device.warning"]), "isDevice": true,
            ]
        ])
    }
}
