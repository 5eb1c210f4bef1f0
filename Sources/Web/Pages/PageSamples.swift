import Accounts
import Coding
import Crypto

/// One rendering of a page with invented people and times.
struct PageSample: Sendable {
    var template: String
    /// What is special about it: `account (name of another direction)`.
    var name: String
    var values: PageValue
    /// Set for the login page, which is joined rather than rendered.
    var login: LoginPage.Content?
}

/// Every page with realistic data, for `bramley check`: long names, right-to-left names, no name, markup. A
/// template without a sample fails a test, and so does one that uses a name no sample has.
enum PageSamples {
    static let scriptNonce = "c2FtcGxlLW5vbmNlLTIyLg"
    static let state = "SAMPLE-STATE"

    static func all(locale: PageLocale, strings: Strings, configuration: WebConfiguration) -> [PageSample] {
        login(strings) + connecting(locale, strings, configuration)
            + people.flatMap { person in
                [
                    account(of: person, isAlone: false, strings), account(of: person, isAlone: true, strings),
                    deletion(of: person, isFresh: true, notice: nil, strings),
                    deletion(of: person, isFresh: true, tellsApple: false, notice: nil, strings),
                    deletion(of: person, isFresh: true, notice: "account.done.unconfirmed", strings),
                    deletion(of: person, isFresh: false, notice: nil, strings),
                    deletion(of: person, isFresh: false, notice: "account.done.otherAccount", strings),
                ] + clients.map { consent(of: person, $0, strings) } + [
                    device(of: person, strings),
                    PageSample(
                        template: "logout", name: "logout (\(person.name))",
                        values: .logout(
                            of: person.user, returnTo: person.user.name.isEmpty ? nil : "/after?a=1&b=\"2\"",
                            strings: strings)),
                ]
            } + [
                PageSample(
                    template: "repost", name: "repost",
                    values: .repost(
                        fields: [("state", state), ("user", "{\"name\":\"<\u{5D0}>\"}")], to: "/apple/callback"
                    ).scripted(scriptNonce))
            ]
            + [(nil, false), (nil, true), (userCode, false)].map { code, isWrong in
                PageSample(
                    template: "device", name: "device (\(isWrong ? "wrong" : code?.text ?? "empty"))",
                    values: .device(code, isWrong: isWrong))
            }
            + DeletionAtApple.allCases.map {
                PageSample(template: "account_deleted", name: "account_deleted (Apple: \($0))", values: .deleted($0))
            } + messages(locale, strings, configuration)
            + operatorPages(of: people, strings: strings)
    }

    private static var applications: [ConnectedApplication] {
        clients.map { client in
            ConnectedApplication(
                client: client.id, name: client.name, document: client.document,
                since: Timestamp(milliseconds: 1_700_000_000_000),
                lastUsedAt: Timestamp(milliseconds: 1_800_000_000_000), scopes: client.scopes,
                services: client.isForeign ? services : [], isOffline: client.scopes.contains(.offlineAccess))
        }
    }

    /// Of one's own on the visitor's machine, and of others: on a site, there with everything, and in an app.
    private static var clients: [OpenIDClient] {
        func client(
            _ name: String, _ redirectURI: String, _ scopes: [OpenIDScope], isForeign: Bool = true,
            document: String? = nil
        ) -> OpenIDClient {
            var client = OpenIDClient(new: OpenIDClientID(unchecked: "sample"), at: moment)
            (client.name, client.redirectURIs, client.scopes) = (name, [redirectURI], scopes)
            (client.needsConsent, client.document) = (isForeign, document)
            return client
        }
        let long = String(repeating: "long-label.", count: 6) + "example.com"
        let everything = OpenIDScope.identity + services.flatMap(\.scopes).map(\.scope)
        return [
            client("Notes", "http://127.0.0.1:4711/callback", [.openid], isForeign: false),
            client("Grafana <b>\"4711\"</b>", "https://grafana.example.com/callback", [.openid, .email]),
            client(
                "\u{202E}\u{5D0}\u{2069} " + String(repeating: "Wolfeschlegelsteinhausen", count: 3),
                "https://\(long):8443/callback", everything, document: "https://\(long)/client.json"),
            client("Pocket", "com.example.pocket:/callback", [.offlineAccess]),
        ]
    }

    private static var services: [Service] {
        func service(_ name: String, _ scopes: [Service.Scope]) -> Service {
            var service = Service(
                OpenIDClientID(unchecked: "notes"), uri: "https://api.example.com/mcp", secret: SHA256.hash(utf8: ""),
                at: moment)
            (service.name, service.scopes) = (name, scopes)
            return service
        }
        let scopes = [("notes.read", "Read your notes"), ("notes.write", "<i>\u{5E9}\u{5DC}\u{5D5}\u{5DD}</i>")]
            .compactMap { name, meaning in OpenIDScope(rawValue: name).map { Service.Scope($0, meaning) } }
        return [service("Notes <b>", scopes), service("\u{645}\u{644}\u{641}\u{627}\u{62A}", [])]
    }

    /// - Parameter isAlone: whether there is only the asking session, and nothing was done.
    private static func account(of person: Person, isAlone: Bool, _ strings: Strings) -> PageSample {
        PageSample(
            template: "account", name: "account (\(person.name)\(isAlone ? ", signed in nowhere else" : ""))",
            values: .account(
                of: person.user,
                sessions: AccountSessions(
                    current: currentSession, items: Array(sessions(of: person.user).prefix(isAlone ? 1 : .max))),
                applications: isAlone ? [] : applications, next: isAlone ? nil : "/account?after=sample",
                operatorPage: isAlone ? nil : "/operator",
                notice: isAlone ? nil : strings["account.done.sessionEnded"],
                strings: strings
            ).scripted(scriptNonce))
    }

    private static func consent(of person: Person, _ client: OpenIDClient, _ strings: Strings) -> PageSample {
        PageSample(
            template: "consent", name: "consent (\(person.name), \(PlainLine.shown(client.name, maximum: 8)))",
            values: .consent(
                to: client, at: client.redirectURIs[0], scopes: client.scopes,
                services: client.document == nil ? [] : services, of: person.user,
                fields: [FormField(name: "state", value: "<\"\u{5D0}\">")],
                target: client.isForeign ? "/oidc/authorize?a=1&b=2" : nil, strings: strings))
    }

    private static let userCode = DeviceUserCode(parsing: "WDJBMJHT")

    private static func device(of person: Person, _ strings: Strings) -> PageSample {
        PageSample(
            template: "consent", name: "consent (\(person.name), device)",
            values: .device(
                code: userCode?.text ?? "", on: Device(userAgent: "curl/8.5.0", address: "2001:db8::1234:5678"),
                scopes: clients[2].scopes, services: services, of: clients[1], for: person.user,
                ticket: FormField(name: "bramley_ticket", value: "sample"), target: "/device?user_code=WDJB-MJHT",
                strings: strings))
    }

    /// - Parameter notice: the key of the text about a try that deleted nothing.
    private static func deletion(
        of person: Person, isFresh: Bool, tellsApple: Bool = true, notice: String?, _ strings: Strings
    ) -> PageSample {
        let name =
            [person.name, isFresh ? "fresh" : "stale"] + (tellsApple ? [] : ["no token"])
            + (notice == nil ? [] : ["tried"])
        return PageSample(
            template: "account_delete", name: "account_delete (\(name.joined(separator: ", ")))",
            values: .deletion(
                of: person.user, isFresh: isFresh, tellsApple: tellsApple,
                again: "/login/apple?return_to=%2Faccount%2Fdelete", notice: notice.map { strings[$0] },
                strings: strings
            ).scripted(scriptNonce))
    }

    private static func login(_ strings: Strings) -> [PageSample] {
        let notices: [(String, LoginPage.Notice?)] =
            [
                ("signed out", nil), ("sent back", .bounced(target: "/app?a=1&b=\"2\"")),
                (
                    "for an application",
                    .application("Grafana <b>\"4711\"</b>", receives: ["profile", "email", "groups", "apple"])
                ), ("for a third-party application", .application("Grafana <b>\"4711\"</b>", receives: nil)),
                ("on the way elsewhere", .returnsTo("https://a-rather-long-name.of-an-application.example.com:8443")),
            ] + people.map { ("signed in, \($0.name)", .alreadySignedIn(PersonText.displayName(of: $0.user) ?? "?")) }
        return notices.map { name, notice in
            PageSample(
                template: "login", name: "login (\(name))",
                values: notice.map { LoginPage.values(of: $0, strings) } ?? [:],
                login: LoginPage.Content(
                    state: state, nonce: "SAMPLE-NONCE", scriptNonce: scriptNonce, returnTo: "/a?b=c", notice: notice))
        }
    }

    /// Where the sample of a waiting person offers another Apple Account.
    static let otherAccount = "/link/sample/apple"

    private static func connecting(
        _ locale: PageLocale, _ strings: Strings, _ configuration: WebConfiguration
    ) -> [PageSample] {
        func sample(_ name: String, _ content: ConnectPage, renewal: String? = nil) -> PageSample {
            let button = ConnectPage.Button(
                state: state, nonce: "SAMPLE-NONCE", address: otherAccount, query: "", renewal: renewal,
                scriptNonce: scriptNonce)
            return PageSample(
                template: "connect", name: "connect (\(name))",
                values: content.values(
                    button: content.waiting == nil ? button : nil, locale: locale, strings: strings,
                    configuration: configuration))
        }
        return people.flatMap { person -> [PageSample] in
            let name = PersonText.displayName(of: person.user)
            let content = ConnectPage(kind: .upgrade, account: name ?? "4711", signedIn: name)
            var waiting = content
            waiting.kind = .link
            waiting.waiting = ConnectPage.Waiting(name: name, action: "/link/sample", other: otherAccount)
            return [
                sample(person.name, content, renewal: "/link/sample/attempt"),
                sample("\(person.name), who waits", waiting),
                PageSample(
                    template: "existing", name: "existing (\(person.name))",
                    values: .existing(
                        waiting: WaitingID(unchecked: "wai_00000000000000000000000001"), name: name,
                        strings: strings)),
            ]
        } + [sample("a link", ConnectPage(kind: .link, account: "4711"))]
    }

    private static func messages(
        _ locale: PageLocale, _ strings: Strings, _ configuration: WebConfiguration
    ) -> [PageSample] {
        let url = configuration.publicURL
        let actions = ["tryAgain", "signIn"].map {
            MessagePage.Action(text: strings["message.\($0)"], link: locale.link(url.path("/login?return_to=%2F")))
        }
        let keys = Set(
            strings.keys.compactMap { key -> String? in
                let parts = key.split(separator: ".")
                return parts.count == 3 && (parts[0] == "errors" || parts[0] == "pages")
                    ? "\(parts[0]).\(parts[1])" : nil
            })
        let person = people.map { person -> PageSample in
            var page = MessagePage(
                code: "not_allowed", strings, configuration,
                [
                    MessagePage.Action(
                        text: strings["forbidden.somebodyElse"], link: url.path("/logout/switch"),
                        kind: .form(returnTo: "/a?b=c&d=\"2\""))
                ] + actions)
            let name = PersonText.accountName(of: person.user) ?? strings["account.someone"]
            page.person = strings.html("logout.lead", ["name": name])
            return PageSample(
                template: "standalone", name: "standalone (not_allowed, \(person.name))",
                values: page.absolute(url).values(errorID: "7F3A9-1C2D0"))
        }
        let signIn = MessagePage(signInReturningTo: nil, locale: locale, strings: strings, configuration: configuration)
        let elsewhere = PageSample(
            template: "standalone", name: "standalone (sign in)", values: signIn.absolute(url).values(errorID: nil))
        return person + [elsewhere]
            + keys.sorted().flatMap { key in
                let name = String(key.drop { $0 != "." }.dropFirst())
                let message =
                    key.hasPrefix("errors.")
                    ? MessagePage(code: name, strings, configuration, actions)
                    : MessagePage(page: name, strings, Array(actions.prefix(1)))
                let errorID = key.hasPrefix("errors.") ? "7F3A9-1C2D0" : nil
                return [
                    PageSample(template: "message", name: "message (\(key))", values: message.values(errorID: errorID)),
                    PageSample(
                        template: "standalone", name: "standalone (\(key))",
                        values: message.absolute(url).values(errorID: errorID)),
                ]
            }
    }

    private typealias Person = (name: String, user: User)

    private static let moment = Timestamp(milliseconds: 1_772_000_000_000)
    private static let currentSession = SessionID(unchecked: "ses_00000000000000000000000001")

    private static let people: [Person] = [
        (
            name: "an ordinary person",
            user: user("Ada", "Byron", EmailAddress(address: "ada@example.com", isVerified: true, isPrivate: false))
        ),
        (
            name: "a long name",
            user: user(
                String(repeating: "Wolfeschlegelsteinhausen", count: 4), "Bergerdorff-von-und-zu-Hohenzollern",
                EmailAddress(
                    address: String(repeating: "l", count: 64) + "@" + String(repeating: "long-label.", count: 6)
                        + "example.com",
                    isVerified: false, isPrivate: false))
        ),
        (
            name: "a name from right to left",
            user: user(
                "\u{644}\u{64A}\u{644}\u{649}", "\u{639}\u{628}\u{62F} \u{627}\u{644}\u{644}\u{647}",
                EmailAddress(address: "x7b2@privaterelay.appleid.com", isVerified: true, isPrivate: true),
                forwarding: false)
        ),
        (name: "a name with markup", user: user("<b>\"Bobby\"</b>", "O'Neil & \u{674E}\u{96F7}\u{202E}nimda", nil)),
        (name: "nothing shared", user: user(nil, nil, nil)),
    ]

    private static func user(
        _ given: String?, _ family: String?, _ email: EmailAddress?, forwarding: Bool? = nil
    ) -> User {
        User(
            id: UserID(unchecked: "usr_00000000000000000000000001"), state: .active,
            name: PersonName(given: given, family: family), email: email, emailForwarding: forwarding,
            appleSubject: AppleSubject("000000.sample.0000"), createdAt: moment)
    }

    private static func sessions(of user: User) -> [Session] {
        let devices: [(SessionKind, String, String)] = [
            (.browser, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "203.0.113.5"),
            (.native, "Example/1 CFNetwork/1", "2001:db8:1234:5678:9abc:def0:1234:5678"), (.browser, "", "192.0.2.1"),
        ]
        return devices.enumerated().map { index, device in
            Session(
                id: index == 0 ? currentSession : SessionID(unchecked: "ses_0000000000000000000000001\(index)"),
                tokenHash: SHA256.hash(utf8: "\(index)"), kind: device.0, user: user.id,
                clientID: ClientID("com.example.web"), device: Device(userAgent: device.1, address: device.2),
                issuedAt: moment, createdAt: moment, lastSeenAt: moment, expiresAt: moment.adding(seconds: 3600))
        }
    }
}
