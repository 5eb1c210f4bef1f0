import Accounts
import Coding
import HTTP

/// `GET` and `POST /oidc/authorize` (OIDC Core §3.1.2): where an application sends people to sign in.
extension WebRoutes {
    private static let authorizePath = "/oidc/authorize"
    /// The parameter that names a request kept here.
    private static let keptName = "bramley_request"
    static let ticketName = "bramley_ticket"
    /// A request that fits into the form of another account, escaped once more, in bytes.
    private static let longestSwitch = 1_200

    /// A post from another site brings no session cookie (`SameSite=Lax`): it continues as a GET (RFC 9700 §4.12).
    func postAuthorize(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        try signIns.record(request)
        let fields = try Self.parameters(request.body)
        let encoded = FormEncoder.encode(fields.map { ($0.name, $0.value) })
        var query = String(decoding: encoded, as: UTF8.self)
        // Longer than every server and proxy takes an address.
        if encoded.count > ReturnTargets.maximumAuthorizeLength {
            let (_, address) = try await asking(AuthorizeRequest(fields))
            guard let kept = try await keeping(query) else { return full(address) }
            query = kept
        }
        return responses.redirect(to: configuration.publicURL.path(Self.authorizePath) + "?" + query).keepingOpener()
    }

    func authorize(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        do {
            try signIns.record(request)
        } catch {
            // A page would not be seen.
            let asked = AuthorizeRequest(try Self.parameters(Array((request.query ?? "").utf8)))
            guard asked.wantsNoPage else { throw error }
            let (client, address) = try await asking(asked, isLimited: true)
            return answer(ProviderError(.temporarilyUnavailable, "too many requests; try again later"), client, address)
        }
        return try await answer(AuthorizeRequest(try await fields(of: request)), request, query: request.query ?? "")
    }

    /// `POST /oidc/consent`: what the person has decided on our page.
    func decide(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw Failure(.crossSite) }
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        let fields = try Self.carried(request.body)
        func field(_ name: String) -> String? { fields.first { $0.name.isExactly(name) }?.value }
        let asked = fields.filter { !$0.name.isExactly(Self.ticketName) && !$0.name.isExactly("decision") }
        if field("decision") == "deny" {
            let (client, address) = try await asking(AuthorizeRequest(asked))
            return answer(ProviderError(.accessDenied, "the person did not allow it"), client, address)
        }
        let query = FormEncoder.encode(asked.map { ($0.name, $0.value) })
        return try await answer(
            AuthorizeRequest(asked), request, query: String(decoding: query, as: UTF8.self),
            ticket: field("decision") == "allow" ? field(Self.ticketName) : nil)
    }

    /// - Parameter query: with which the request is made again.
    private func answer(
        _ asked: AuthorizeRequest, _ request: ServerRequest, query: String, ticket: String? = nil
    ) async throws(Failure) -> ServerResponse {
        let (client, address) = try await asking(asked)
        let valid: ValidatedAuthorizeRequest
        do {
            valid = try ValidatedAuthorizeRequest(
                asked, client: client, address: address, services: try await provider.services(of: asked))
        } catch {
            return answer(error.providerError, client, address)
        }
        let signedIn = try await signedIn(request)
        switch try await provider.authorize(
            valid, signedIn: signedIn, isCancelled: asked.isCancelled, ticket: ticket)
        {
        case .code(let code): return answer(address.answer(code: code, issuer: configuration.publicURL.absolute))
        case .error(let error): return answer(error, client, address)
        case .signIn(let query):
            guard let target = try await target(query) else { return full(address) }
            let received = OpenIDScope.claims.filter(valid.scopes.contains).map(\.rawValue)
            return show(
                request, RequestedReturn(text: target.location, target: target), signedIn,
                notice: .application(PlainLine.shown(client.provenName), receives: valid.mayAsk ? nil : received))
        case .ask(let query, let ticket, let signedIn):
            return try await ask(request, valid, address, query, ticket, signedIn.user)
        case .notAllowed(let error):
            let target = targets.validate(configuration.publicURL.path(Self.authorizePath) + "?" + query)
            throw Failure(
                .openIDNotAllowed, "client \(client.clientID)",
                visit: FailedVisit {
                    $0.returnTo = target
                    $0.person = signedIn?.user
                    $0.client = client
                    $0.declined = declined(error, address, query)
                })
        }
    }

    /// The page on which the person allows it, or does not.
    private func ask(
        _ request: ServerRequest, _ valid: ValidatedAuthorizeRequest, _ address: AnswerAddress, _ query: String,
        _ ticket: String, _ user: User
    ) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        let fields = try Self.carried(Array(query.utf8)) + [FormField(name: Self.ticketName, value: ticket)]
        let page = responses.pages.render(
            "consent", locale: locale,
            .consent(
                to: valid.client, at: address.redirectURI, scopes: valid.scopes, services: valid.services, of: user,
                fields: fields, target: query.utf8.count > Self.longestSwitch ? nil : try await target(query)?.location,
                strings: responses.pages.strings(locale)))
        return responses.page(page, locale: locale, policy: responses.policy.onward, referrer: .sameOrigin)
            .keepingOpener()
    }

    /// Who asks, and where answers may go.
    /// - Parameter isLimited: nothing is fetched for it.
    private func asking(
        _ asked: AuthorizeRequest, isLimited: Bool = false
    ) async throws(Failure) -> (OpenIDClient, AnswerAddress) {
        guard let id = asked.clientID,
            let client = try await isLimited ? provider.storedClient(named: id) : provider.client(named: id)
        else { throw Failure(.openIDClientUnknown) }
        guard let address = asked.answerAddress(of: client) else {
            throw .openIDRedirectRefused(client, "redirect_uri", asked.redirectURI ?? "", not: client.redirectURIs)
        }
        return (client, address)
    }

    /// The parameters, of a request that was kept too; what else came with that is whether Apple's page was cancelled.
    private func fields(of request: ServerRequest) async throws(Failure) -> [FormField] {
        let fields = try Self.parameters(Array((request.query ?? "").utf8))
        guard let id = fields.first(where: { $0.name.isExactly(Self.keptName) })?.value else { return fields }
        guard let query = try await provider.kept(id) else {
            throw .badRequest("the request has expired; begin again at the application")
        }
        return try Self.carried(Array(query.utf8)) + fields.filter { $0.name.isExactly("error") }
    }

    /// Where the sign-in leads back to; nil while too many long requests are kept.
    private func target(_ query: String) async throws(Failure) -> ReturnTarget? {
        let path = configuration.publicURL.path(Self.authorizePath) + "?"
        if let target = targets.validate(path + query) { return target }
        return try await keeping(query).flatMap { targets.validate(path + $0) }
    }

    private func keeping(_ query: String) async throws(Failure) -> String? {
        try await provider.keep(query).map { "\(Self.keptName)=\($0)" }
    }

    /// The parameters of an application's query or form. Counted as our form carries them, which escapes more.
    static func parameters(_ bytes: [UInt8]) throws(Failure) -> [FormField] {
        let limit = BodyLimit.authorize
        guard let fields = try? FormDecoder.parse(bytes, maximumBytes: limit),
            FormEncoder.encode(fields.map { ($0.name, $0.value) }).count <= limit
        else { throw .badRequest("the request is larger than \(limit) bytes, or has too many parameters") }
        return fields
    }

    /// The same of a request that was accepted, with what was added here: a mark, a ticket, a decision.
    private static func carried(_ bytes: [UInt8]) throws(Failure) -> [FormField] {
        guard let fields = try? FormDecoder.parse(bytes, maximumBytes: bytes.count, maximumFields: 80) else {
            throw .badRequest("the request has too many parameters")
        }
        return fields
    }

    private func full(_ address: AnswerAddress) -> ServerResponse {
        let error = ProviderError(.temporarilyUnavailable, "too many long requests are waiting; try again later")
        return answer(address.answer(error, issuer: configuration.publicURL.absolute))
    }

    /// Every error that goes to a client leaves a line in the log.
    private func answer(_ error: ProviderError, _ client: OpenIDClient, _ address: AnswerAddress) -> ServerResponse {
        responses.log(
            Failure(.openIDErrorReturned, "client \(client.clientID): \(error.code.rawValue), \(error.text)"),
            route: Self.authorizePath)
        return answer(address.answer(error, issuer: configuration.publicURL.absolute))
    }

    private func answer(_ answer: ClientAnswer) -> ServerResponse {
        switch answer {
        case .redirect(let location): return responses.redirect(to: location).keepingOpener()
        case .post(let address, let fields): return responses.posting(fields, to: address).keepingOpener()
        }
    }

    /// For a link: an answer that is to be posted is made when it is followed.
    private func declined(_ error: ProviderError, _ address: AnswerAddress, _ query: String) -> String {
        switch address.answer(error, issuer: configuration.publicURL.absolute) {
        case .redirect(let location): location
        case .post:
            configuration.publicURL.path(Self.authorizePath) + "?\(query)&error=user_cancelled_authorize"
        }
    }
}

extension Failure {
    /// An address that is not one of the application's. The log has it, and those that are registered.
    static func openIDRedirectRefused(
        _ client: OpenIDClient, _ name: String, _ sent: String, not known: [String]
    ) -> Failure {
        let registered = known.isEmpty ? "none" : known.prefix(10).joined(separator: " ")
        return Failure(
            .openIDRedirectRefused,
            "client \(client.clientID): \(name) is \(sent.prefix(500)), registered: \(registered)",
            visit: FailedVisit { $0.client = client })
    }
}
