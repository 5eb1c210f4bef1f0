import Coding

/// The frame of every page of the simulator: unmistakably not Apple.
enum Page {
    static func escape(_ text: String) -> String {
        let references = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")]
        return references.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    static func hidden(_ name: String, _ value: String) -> String {
        "<input type=\"hidden\" name=\"\(escape(name))\" value=\"\(escape(value))\">"
    }

    /// The page for people; all its actions use the JSON interface.
    static var controls: String {
        let flaws = TokenQuirks.Flaw.allCases.map {
            "<button data-call=\"PUT tokens\" data-body='{\"wrong\":[\"\($0.rawValue)\"]}'>\($0.rawValue)</button>"
        }
        let body = String(decoding: PackageResources.control_html, as: UTF8.self)
        return shell(
            title: "Controls", body: body.replacing("{{flaws}}", with: flaws.joined(separator: "\n")),
            script: "control.js", isWide: true)
    }

    /// - Parameter body: HTML with all values already escaped.
    static func shell(title: String, body: String, script: String? = nil, isWide: Bool = false) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(escape(title)) · Simulated Apple</title>
        <link rel="stylesheet" href="/simulator/assets/simulator.css">
        <link rel="icon" href="data:,">
        \(script.map { "<script src=\"/simulator/assets/\($0)\" defer></script>" } ?? "")
        </head>
        <body\(isWide ? " class=\"wide\"" : "")>
        <header class="ribbon" role="note"><strong>Simulated Apple</strong> for development. Nothing you enter here \
        reaches Apple.</header>
        <main>
        \(body)
        </main>
        </body>
        </html>

        """
    }
}

/// An authorize request that waits for a person to decide.
struct AuthorizePage: Sendable {
    var id: String
    var request: AuthorizeRequest

    func choice(of people: [Person], knownBy team: Set<String>) -> String {
        let items = people.map { person in
            let known = team.contains(person.id) ? "<span class=\"tag\">signed in before</span>" : ""
            return """
                <li><button class="person" name="person" value="\(Page.escape(person.id))">
                <span class="initial" aria-hidden="true">\(Page.escape(String(person.givenName.prefix(1))))</span>
                <span class="who"><span class="name">\(Page.escape(person.fullName))</span>
                <span class="detail">\(Page.escape(person.email ?? "no e-mail address"))</span>
                <span class="detail">\(Page.escape(person.note))</span></span>\(known)
                </button></li>
                """
        }
        return Page.shell(
            title: "Choose a person",
            body: """
                <h1>Who is signing in?</h1>
                <p>To <strong>\(Page.escape(request.client.id))</strong>, as one of these simulated people.</p>
                <form method="post" action="/auth/authorize/person">
                \(Page.hidden("page", id))
                <ul class="people">
                \(items.joined(separator: "\n"))
                </ul>
                </form>
                <form method="post" action="/auth/authorize/consent">
                \(Page.hidden("page", id))
                <button class="quiet" name="decision" value="cancel">Cancel</button>
                </form>
                """)
    }

    func consent(of person: Person, existing: Consent?) -> String {
        let scopes = existing == nil ? request.scopes : []
        var parts: [String] = []
        if scopes.contains("name") { parts.append(Self.nameFields(person)) }
        if scopes.contains("email") { parts.append(addressFields(person)) }
        let text =
            existing == nil
            ? "Continue to <strong>\(Page.escape(request.client.id))</strong>?"
            : "<strong>\(Page.escape(request.client.id))</strong> already knows this person, so the name and address "
                + "are not requested again."
        return Page.shell(
            title: "Continue as \(person.givenName)",
            body: """
                <h1>Continue as \(Page.escape(person.givenName))</h1>
                <p>\(text)</p>
                <form method="post" action="/auth/authorize/consent">
                \(Page.hidden("page", id))
                \(Page.hidden("person", person.id))
                \(parts.joined(separator: "\n"))
                <div class="actions">
                <button class="primary" name="decision" value="continue" autofocus>Continue</button>
                <button class="quiet" name="decision" value="cancel" formnovalidate>Cancel</button>
                </div>
                </form>
                """)
    }

    private static func nameFields(_ person: Person) -> String {
        """
        <fieldset><legend>Name</legend>
        <label for="given">First name</label>
        <input id="given" name="given_name" value="\(Page.escape(person.givenName))" autocomplete="off">
        <label for="family">Last name</label>
        <input id="family" name="family_name" value="\(Page.escape(person.familyName))" autocomplete="off">
        </fieldset>
        """
    }

    private func addressFields(_ person: Person) -> String {
        guard let email = person.email else {
            return "<fieldset><legend>E-mail</legend><p>This account has no address to share.</p></fieldset>"
        }
        guard person.organizationID == nil else {
            return "<fieldset><legend>E-mail</legend><p>\(Page.escape(email)) is shared: a Work &amp; School account "
                + "cannot hide it.</p>\(Page.hidden("address", "share"))</fieldset>"
        }
        func radio(_ value: String, _ label: String, _ detail: String, _ isChosen: Bool) -> String {
            """
            <label class="radio"><input type="radio" name="address" value="\(value)"\(isChosen ? " checked" : "")>
            <span>\(label)<span class="detail">\(Page.escape(detail))</span></span></label>
            """
        }
        return """
            <fieldset><legend>E-mail</legend>
            \(radio("share", "Share my e-mail", email, !person.hidesEmail))
            \(radio("hide", "Hide my e-mail", person.relayAddress(team: request.client.team), person.hidesEmail))
            </fieldset>
            """
    }
}

// The pages that return a result.
extension Page {
    /// form_post: posts itself, or waits for the button where scripts do not run.
    static func form(_ fields: FormFields, to redirectURI: String) -> String {
        Page.shell(
            title: "Signing in",
            body: """
                <h1>Signing you in</h1>
                <form method="post" action="\(Page.escape(redirectURI))" id="delivery">
                \(fields.map { Page.hidden($0.name, $0.value) }.joined(separator: "\n"))
                <p>Returning to the site.</p>
                <button class="primary">Continue</button>
                </form>
                """, script: "deliver.js")
    }

    /// web_message: sends one JSON text to the window that opened this popup.
    static func message(_ data: JSON, to origin: String) -> String {
        let message: JSON = ["method": "oauthDone", "data": data]
        return Page.shell(
            title: "Signing in",
            body: """
                <h1>Signing you in</h1>
                <p id="status" role="status">Notifying the site.</p>
                <noscript><p>A popup needs scripts. Close this window and sign in without the popup.</p></noscript>
                <script type="application/json" id="message" \
                data-origin="\(Page.escape(origin))">\(message.text)</script>
                """, script: "deliver.js")
    }

    static func mistake(_ error: OAuthError) -> String {
        Page.shell(
            title: "Sign-in not possible",
            body: """
                <h1>This request is not valid</h1>
                <p class="problem"><code>\(Page.escape(error.code))</code></p>
                <p>\(Page.escape(error.reason))</p>
                <p class="detail">Apple shows such errors on its own page, with less explanation, and does not \
                notify the site.</p>
                """)
    }
}
