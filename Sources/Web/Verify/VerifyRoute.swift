import Coding
import HTTP
import HTTPTypes
import RelyingParty

/// `GET /auth/verify`, in full: asked by a reverse proxy before it serves a page. `VerifyFastPath` answers the usual
/// request from prepared bytes; what it leaves comes here. Never rate-limited.
struct VerifyRoute: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let reader: SignedInReader
    let targets: ReturnTargets

    func get(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let original: OriginalRequest
        do throws(OriginalRequest.Refusal) {
            original = try OriginalRequest(
                fields: request.fields, style: configuration.forwardAuth.fieldFamily,
                isFromTrustedProxy: request.isFromTrustedProxy)
        } catch {
            throw .originalRequest(error)
        }
        let signedIn: SignedIn?
        do {
            signedIn = try await reader.signedIn(reader.credential(in: request.fields))
        } catch {
            throw .store(error)
        }
        switch signedIn?.user.state {
        case .active: return answer(signedIn.map { VerifiedUser($0.user) } ?? .nobody)
        case .pending: throw .userPending
        case .disabled: throw .userDisabled
        case nil: return signedOut(request, original)
        }
    }

    private func answer(_ user: VerifiedUser, status: HTTPResponse.Status = .noContent) -> ServerResponse {
        var fields = HTTPFields()
        for (name, value) in user.fields { fields[name] = value }
        return responses.empty(status, fields: fields)
    }

    private func signedOut(_ request: ServerRequest, _ original: OriginalRequest) -> ServerResponse {
        let query = Query(request)
        if query.isTrue("optional") { return answer(.nobody) }
        var response = answer(.nobody, status: .unauthorized)
        response.fields[.location] = loginURL(original)
        response.fields[.wwwAuthenticate] = "Bearer"
        if query.isTrue("redirect"), isNavigation(request, original) { response.status = .found }
        return response
    }

    /// The complete login URL, the return target encoded in it: nginx cannot encode it itself. Without a target when
    /// the proxy named none, or one that is not ours to return to.
    private func loginURL(_ original: OriginalRequest) -> String {
        let login = configuration.publicURL.absolute + "/login"
        guard let scheme = original.scheme, let host = original.host, let target = original.target,
            let returnTo = targets.validate("\(scheme)://\(host)\(target)")
        else { return login }
        return login + "?return_to=" + PercentEncoding.encodeComponent(returnTo.location)
    }

    /// A GET or HEAD that loads a page: a script's request could do nothing with a login page.
    private func isNavigation(_ request: ServerRequest, _ original: OriginalRequest) -> Bool {
        let method = original.method ?? request.method
        guard method == .get || method == .head else { return false }
        if let mode = request.fields[.secFetchMode] { return mode.isExactly("navigate") }
        return request.fields[.requestedWith] == nil
    }
}

extension WebConfiguration.ForwardAuthStyle {
    var fieldFamily: OriginalRequest.Style {
        switch self {
        case .forwarded: .forwarded
        case .original: .original
        }
    }
}
