import Accounts
import Coding
import HTTP

/// `GET` and `POST /account/delete`, and `GET /account/deleted`: the deletion of an account.
///
/// A stray tap deletes nothing: it takes a page of its own, a sign-in within ten minutes, and a ticked box. The form
/// names the account it was shown for, because the new sign-in, in this tab or another, may be another person's.
extension WebRoutes {
    func deletionPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        guard let signedIn = try await active(request) else {
            return login(returningTo: "/account/delete", locale: locale)
        }
        let strings = responses.pages.strings(locale)
        let here = PercentEncoding.encodeComponent(locale.link(configuration.publicURL.path("/account/delete")))
        let again = locale.link(configuration.publicURL.path("/login/apple?return_to=\(here)"))
        // As far as known now: the token may be gone by then.
        let tellsApple = try await database.identities(of: signedIn.user.id)?.holdToken ?? false
        let notice = AccountNotice(request, among: AccountNotice.ofDeletion)?.text(strings)
        return responses.scripted(
            "account_delete", locale: locale,
            .deletion(
                of: signedIn.user, isFresh: signedIn.session.isRecent(at: clock.now()), tellsApple: tellsApple,
                again: again, notice: notice, strings: strings))
    }

    func postDeletion(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let form = try form(request, ["confirm", "account"])
        let locale = responses.locale(of: request)
        let account = form["account"].flatMap { UserID(parsing: $0) }
        guard let signedIn = try await active(request) else {
            // The second of two taps: the first deleted the account. Others may sign in.
            if let account, try await database.user(account) == nil { return gone(.unknown, locale) }
            return login(returningTo: "/account/delete", locale: locale)
        }
        // The page was shown to somebody else.
        guard account == signedIn.user.id else { return again(.otherAccount, locale) }
        guard signedIn.session.isRecent(at: clock.now()) else { return again(nil, locale) }
        guard form["confirm"].map({ $0.isExactly("yes") }) == true else { return again(.unconfirmed, locale) }
        let deletion = try await database.deleteUser(signedIn.user.id, at: clock.now())
        bounces.forget(signedIn.session, request.fields, cookies)
        return gone(DeletionAtApple(deletion), locale).setting([cookies.clearSession])
    }

    /// What happened, and whether Apple is told; nothing about any person.
    func deletedPage(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let locale = responses.locale(of: request)
        if try await signedIn(request) != nil { return redirect(to: "/account", locale: locale) }
        var apple = DeletionAtApple.unknown
        if case .one(let word) = Query(request).value("apple") {
            apple = DeletionAtApple.allCases.first { $0.rawValue.isExactly(word) } ?? .unknown
        }
        let page = responses.pages.render("account_deleted", locale: locale, .deleted(apple))
        return responses.page(page, locale: locale)
    }

    private func again(_ notice: AccountNotice?, _ locale: PageLocale) -> ServerResponse {
        let query = notice.map { "?done=\($0.rawValue)" } ?? ""
        return redirect(to: "/account/delete" + query, locale: locale)
    }

    private func gone(_ apple: DeletionAtApple, _ locale: PageLocale) -> ServerResponse {
        let query = apple == .unknown ? "" : "?apple=\(apple.rawValue)"
        return redirect(to: "/account/deleted" + query, locale: locale)
    }
}
