import Accounts
import Coding
import HTTP

/// Access to an account: for the person of the cookie's session, from our own pages.
extension WebRoutes {
    /// The live session of the cookie, whatever the state of its user; an app's Bearer is not accepted on pages.
    func signedIn(_ request: ServerRequest) async throws(Failure) -> SignedIn? {
        guard case .cookie(let token) = reader.credential(in: request.fields) else { return nil }
        return try await reader.signedIn(.cookie(token))
    }

    /// The same for an active user; nil when signed out.
    func active(_ request: ServerRequest) async throws(Failure) -> SignedIn? {
        guard let signedIn = try await signedIn(request) else { return nil }
        try signedIn.user.requireActive()
        return signedIn
    }

    /// Redirects to the login page, and back to `path` afterwards.
    func login(returningTo path: String, locale: PageLocale) -> ServerResponse {
        let target = PercentEncoding.encodeComponent(locale.link(configuration.publicURL.path(path)))
        return redirect(to: "/login?return_to=\(target)", locale: locale)
    }

    /// A page of ours, by its path below `publicURL`.
    func redirect(to path: String, locale: PageLocale) -> ServerResponse {
        responses.redirect(to: locale.link(configuration.publicURL.path(path)))
    }

    /// The form of a request that changes something, with each of these fields at most once; others are ignored. Throws
    /// when it does not come from a page of ours, or is not such a form.
    func form(_ request: ServerRequest, _ names: [String]) throws(Failure) -> [String: String] {
        guard SameOrigin.holds(request.fields, publicURL: configuration.publicURL) else { throw Failure(.crossSite) }
        return try Self.fields(request, names)
    }

    /// The same, from any site.
    static func fields(_ request: ServerRequest, _ names: [String]) throws(Failure) -> [String: String] {
        guard MediaType.isForm(request.fields) else { throw Failure(.unsupportedMediaType) }
        let query = Query(request.body)
        guard query.isWhole else { throw .badRequest("too many parameters") }
        var values: [String: String] = [:]
        for name in names { values[name] = try query.single(name) }
        return values
    }
}

/// A known notice at the top of the account or deletion page: a code in its address, without cookie or store.
enum AccountNotice: String, Sendable, CaseIterable {
    case sessionEnded = "session-ended"
    case othersEnded = "others-ended"
    case accessEnded = "access-ended"
    case unconfirmed
    case otherAccount = "other-account"

    /// The notices of each page: on the other one they would be wrong.
    static let ofAccount: [AccountNotice] = [.sessionEnded, .othersEnded, .accessEnded]
    static let ofDeletion: [AccountNotice] = [.unconfirmed, .otherAccount]

    /// Nil for another site's link: strangers must not choose what our page says.
    init?(_ request: ServerRequest, among notices: [AccountNotice]) {
        guard SameOrigin.isOwnOrTyped(request.fields),
            case .one(let code) = Query(request).value("done"),
            let notice = notices.first(where: { $0.rawValue.isExactly(code) })
        else { return nil }
        self = notice
    }

    func text(_ strings: Strings) -> String? { strings["account.done.\(self)"] }
}
