import Coding
import HTTP
import HTTPTypes

extension Simulator {
    func authorize(_ request: ServerRequest) -> ServerResponse {
        let fields = FormFields(parsing: request.query ?? "", plusIsSpace: false)
        do throws(OAuthError) {
            return .html(
                try change { world, moment throws(OAuthError) in
                    let asked = try AuthorizeRequest(fields, clients: world.clients)
                    let page = AuthorizePage(id: Base64URL.encode(moment.randomBytes(18)), request: asked)
                    world.pages[page.id] = page
                    world.pageOrder.append(page.id)
                    world.forgetOld(now: moment.milliseconds)
                    let known = world.consents.keys.filter { $0.team == asked.client.team }.map(\.person)
                    return page.choice(of: world.people, knownBy: Set(known))
                })
        } catch {
            record("\(error.code): \(error.reason)", endpoint: "authorize")
            return .html(Page.mistake(error), status: .badRequest)
        }
    }

    /// `POST /auth/authorize/person`: shows what this person would share.
    func choosePerson(_ request: ServerRequest) -> ServerResponse {
        let fields = form(request)
        let html = change { world, _ -> String? in
            guard let page = world.pages[fields["page"] ?? ""], let person = world.person(fields["person"] ?? "")
            else { return nil }
            let key = Consent.Key(person: person.id, team: page.request.client.team)
            return page.consent(of: person, existing: world.consents[key])
        }
        return html.map { .html($0) } ?? lostPage
    }

    /// `POST /auth/authorize/consent`: yes or no, and back to the relying party.
    func decide(_ request: ServerRequest) -> ServerResponse {
        let fields = form(request)
        guard let page = change({ world, _ in world.pages[fields["page"] ?? ""] }) else { return lostPage }
        guard fields["decision"] == "continue" else {
            record("the person cancelled", endpoint: "authorize")
            return deliver(SignIn.cancelled(state: page.request.state), for: page.request)
        }
        let signIn = change { world, moment -> SignIn? in
            guard let person = world.person(fields["person"] ?? "") else { return nil }
            var decision = Decision(person: person)
            decision.givenName = fields["given_name"] ?? decision.givenName
            decision.familyName = fields["family_name"] ?? decision.familyName
            if let address = fields["address"] { decision.sharesAddress = address == "share" }
            world.journal.record("\(person.id) signs in", endpoint: "authorize", at: moment)
            return world.signIn(page.request, person: person, decision: decision, at: moment)
        }
        guard let signIn else { return lostPage }
        return deliver(signIn.fields(), for: page.request)
    }

    private func deliver(_ fields: FormFields, for request: AuthorizeRequest) -> ServerResponse {
        guard let uri = request.redirectURI else { return lostPage }
        switch request.responseMode {
        case .formPost: return .html(Page.form(fields, to: uri))
        case .query: return .redirect(to: uri + (uri.contains("?") ? "&" : "?") + fields.encoded)
        case .fragment: return .redirect(to: uri + "#" + fields.encoded)
        case .webMessage:
            let origin = uri.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
                .joined(separator: "/")
            return .html(Page.message(Self.messageData(fields), to: origin))
        }
    }

    /// `{authorization:{code,id_token,state},user?}` or `{error}`.
    private static func messageData(_ fields: FormFields) -> JSON {
        if let error = fields["error"] { return ["error": .string(error)] }
        var authorization: JSON = [:]
        for name in ["code", "id_token", "state"] { authorization[name] = fields[name].map(JSON.string) }
        var data: JSON = ["authorization": authorization]
        if let user = fields["user"].flatMap({ JSON(parsing: Array($0.utf8)) }) { data["user"] = user }
        return data
    }

    private var lostPage: ServerResponse {
        .html(
            Page.shell(
                title: "Start again",
                body: "<h1>Start again</h1><p>This page has expired. Go back and sign in again.</p>"),
            status: .badRequest)
    }
}
