// Apple's answer to a browser's attempt for a link.
extension Linking {
    func complete(
        _ key: LinkKey, form: CallbackForm, opened: OpenedState, device: Device, keptName: String?
    ) async -> SignInOutcome {
        do throws(LinkFailure) {
            let link = try await found(key)
            // The state says the same, but anybody with the sealing key can make a state.
            guard link.browser == opened.attempt.bindingHash else { throw .signIn(.wrongBrowser) }
            let content = RequestContent([form.state, form.code, form.identityToken])
            let after: Link
            if let before = try authorized(link, by: content.digest) {
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
                    link, callback, content: content, attempt: attempt, kind: .browser, device: device,
                    kept: keptName)
            }
            switch after.style {
            case .ticket: return .linkAuthorized(location: try location(of: after, content))
            case .password:
                let done = try await settle(try await commit(after))
                let (token, signedIn) = try await session(of: done, content)
                return .signedIn(token: token, session: signedIn.session, returnTo: opened.returnTo)
            }
        } catch {
            return .linkFailed(error, link: key, returnTo: opened.returnTo)
        }
    }
}
