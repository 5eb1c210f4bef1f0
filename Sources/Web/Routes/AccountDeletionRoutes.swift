import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes

/// `GET` and `POST /account/delete`, and `GET /account/deleted`: the deletion of an account.
///
/// A stray tap deletes nothing: it takes a page of its own, a sign-in within ten minutes, and a ticked box. The form
/// names the account it was shown for, because the new sign-in, in this tab or another, may be another person's.
struct AccountDeletionRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let access: AccountAccess
    let database: Database
    let bounces: BounceMemory
    let clock: any WallClock
    let random: any RandomSource

    func page(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await access.active(request) else {
            return access.login(returningTo: "/account/delete", locale: locale)
        }
        let strings = responses.pages.strings(locale)
        let nonce = Base64URL.encode(random.bytes(16))
        let here = PercentEncoding.encodeComponent(locale.link(configuration.publicURL.path("/account/delete")))
        let again = locale.link(configuration.publicURL.path("/login/apple?return_to=\(here)"))
        let page = responses.pages.render(
            "account_delete", locale: locale,
            AccountDeletionPage.values(
                of: signedIn.user, isFresh: isFresh(signedIn.session), tellsApple: try await holdsToken(signedIn.user),
                again: again, minutes: RecentSignIn.seconds / 60,
                notice: AccountNotice(request, among: AccountNotice.ofDeletion)?.text(strings), scriptNonce: nonce,
                strings: strings))
        return responses.page(
            page, locale: locale, policy: responses.policy.scripted(nonce: nonce), referrer: .sameOrigin)
    }

    /// Whether Apple can be told, as far as known now: a token may disappear until then.
    private func holdsToken(_ user: User) async throws(WebFailure) -> Bool {
        return try await WebFailure.mapping(await database.identities(of: user.id)?.holdToken ?? false)
    }

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let form = try access.form(request, ["confirm", "account"])
        let locale = responses.locale(of: request)
        let account = form["account"].flatMap { UserID(parsing: $0) }
        guard let signedIn = try await access.active(request) else {
            return try await afterwards(account, locale)
        }
        // The page was shown to somebody else.
        guard account == signedIn.user.id else { return again(.otherAccount, locale) }
        guard isFresh(signedIn.session) else { return again(nil, locale) }
        guard form["confirm"].map({ $0.isExactly("yes") }) == true else { return again(.unconfirmed, locale) }
        let deletion = try await WebFailure.mapping(await database.deleteUser(signedIn.user.id, at: clock.now()))
        bounces.forget(signedIn.session, request.fields, cookies)
        return gone(AccountDeletionPage.Apple(deletion), locale, cookies: [cookies.clearSession])
    }

    /// What happened, and whether Apple is told; nothing about any person.
    func deleted(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        if try await access.signedIn(request) != nil {
            return responses.redirect(to: responses.locale(of: request).link(configuration.publicURL.path("/account")))
        }
        let locale = responses.locale(of: request)
        var apple = AccountDeletionPage.Apple.unknown
        if case .one(let word) = Query(request).value("apple") {
            apple = AccountDeletionPage.Apple.allCases.first { $0.rawValue.isExactly(word) } ?? .unknown
        }
        let page = responses.pages.render("account_deleted", locale: locale, AccountDeletionPage.deleted(apple))
        return responses.page(page, locale: locale)
    }

    private func isFresh(_ session: Session) -> Bool { RecentSignIn.holds(session, at: clock.now()) }

    private func again(_ notice: AccountNotice?, _ locale: PageLocale) -> ServerResponse {
        let query = notice.map { "?done=\($0.rawValue)" } ?? ""
        return responses.redirect(to: locale.link(configuration.publicURL.path("/account/delete" + query)))
    }

    private func gone(
        _ apple: AccountDeletionPage.Apple, _ locale: PageLocale, cookies: [String] = []
    ) -> ServerResponse {
        let query = apple == .unknown ? "" : "?apple=\(apple.rawValue)"
        return responses.redirect(
            to: locale.link(configuration.publicURL.path("/account/deleted" + query)), cookies: cookies)
    }

    /// When signed out: the second of two taps, whose first deleted the account, is told that it is deleted; others may
    /// sign in.
    private func afterwards(_ account: UserID?, _ locale: PageLocale) async throws(WebFailure) -> ServerResponse {
        guard let account else { return access.login(returningTo: "/account/delete", locale: locale) }
        if try await WebFailure.mapping(await database.user(account)) == nil { return gone(.unknown, locale) }
        return access.login(returningTo: "/account/delete", locale: locale)
    }
}
