import Coding
import Crypto

// Apple's answer to a browser's attempt that carries a link.
extension SignIn {
    func linkWork(
        _ key: LinkKey, form: CallbackForm, opened: OpenedState, device: Device, keptName: String?
    ) async -> SignInOutcome {
        do throws(LinkFailure) {
            let link = try await found(key)
            let request = Self.digest(of: form, opened)
            let after: Link
            if let before = try authorized(link, by: request) {
                after = before
            } else {
                let callback: ValidatedCallback
                do throws(SignInFailure) {
                    callback = try ValidatedCallback(form: form, opened: opened, servicesID: provider.servicesID)
                } catch {
                    throw LinkFailure.signIn(error)
                }
                let attempt = SignInAttempt(
                    id: opened.id, issuedAt: opened.attempt.issuedAt, bindingHash: opened.attempt.bindingHash,
                    replacing: opened.attempt.replacing)
                after = try await authorize(
                    link, callback, request: request, attempt: attempt, kind: .browser, device: device,
                    kept: keptName)
            }
            switch after.style {
            case .ticket: return .linkAuthorized(location: try location(of: after))
            case .password:
                let done = try await settle(try await commit(after))
                let (token, signedIn) = try await session(of: done)
                return .signedIn(token: token, session: signedIn.session, returnTo: opened.returnTo)
            }
        } catch {
            return .linkFailed(error, link: key, returnTo: opened.returnTo)
        }
    }

    /// The attempt, and Apple's answer to it.
    private static func digest(of form: CallbackForm, _ opened: OpenedState) -> Digest256 {
        SHA256.hash(
            opened.id.bytes + SHA256.hash(utf8: form.code ?? "").bytes
                + SHA256.hash(utf8: form.identityToken ?? "").bytes)
    }
}
