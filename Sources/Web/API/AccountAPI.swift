import Accounts
import Coding
import HTTP
import HTTPTypes

/// `GET` and `DELETE /api/v1/session`: who is signed in, for a page or an app; and the end of that session.
extension WebRoutes {
    func session(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let signedIn = try await reader.active(reader.credential(in: request.fields))
        return responses.json(signedIn.document())
    }

    func endSession(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        let credential = try reader.changing(request.fields, configuration.publicURL)
        guard let signedIn = try await reader.signedIn(credential) else { throw Failure(.signedOut) }
        try await reader.database.endSession(signedIn.session.id, cause: .signOut, at: clock.now())
        bounces.forget(signedIn.session, request.fields, cookies)
        if case .cookie = credential { return responses.empty(.noContent).setting([cookies.clearSession]) }
        return responses.empty(.noContent)
    }
}

/// `DELETE /api/v1/account`: people who delete their account in an app, or by script on a page of ours.
extension WebRoutes {
    /// 202: deleted here, durably, when this answers; Apple is told afterwards, if possible.
    func deleteAccount(_ request: ServerRequest) async throws(Failure) -> ServerResponse {
        _ = try APIQuery(request)
        let credential = try reader.changing(request.fields, configuration.publicURL)
        let fresh = try Self.freshAuthorization(request)
        let signedIn = try await reader.active(credential)
        if let fresh {
            guard signedIn.session.kind == .native else {
                throw .invalidRequest("authorizationCode is accepted only from an app that is signed in")
            }
            try signIns.pass(request)
            // What Apple has just given the app proves more than a sign-in some minutes ago.
            try await translating(await signIn.redeem(fresh, of: signedIn), \Failure.ofApp)
        } else {
            guard signedIn.session.isRecent(at: clock.now()) else { throw Failure(.freshSignInRequired) }
        }
        // Unknown if another request was faster; the account is deleted in any case.
        let deletion = try await database.deleteUser(signedIn.user.id, at: clock.now())
        bounces.forget(signedIn.session, request.fields, cookies)
        guard case .cookie = credential else { return answer(deletion) }
        return answer(deletion).setting([cookies.clearSession])
    }

    /// The optional content; nil when empty.
    private static func freshAuthorization(_ request: ServerRequest) throws(Failure) -> FreshAuthorization? {
        if request.body.isEmpty { return nil }
        let body = try JSONBody(request, of: ["authorizationCode", "identityToken", "nonce"])
        let fresh = FreshAuthorization(
            authorizationCode: try body.needed("authorizationCode", maximumSize: JSONBody.maximumCodeSize),
            identityToken: try body.text("identityToken", maximumSize: JSONBody.maximumTokenSize),
            nonce: try body.text("nonce", maximumSize: JSONBody.maximumNonceSize))
        guard fresh.identityToken == nil || fresh.nonce != nil else {
            throw .invalidRequest("identityToken needs a nonce")
        }
        return fresh
    }

    /// Whether Apple is told, or the person must remove the app there; null after another request deleted the account.
    func answer(_ deletion: UserDeletion) -> ServerResponse {
        responses.json(status: .accepted) { $0.member("appleNotified", deletion.isAppleNotified) }
    }
}
