// Apple's answer to a browser's attempt for a link.
extension Linking {
    func complete(
        _ id: LinkID, form: CallbackForm, opened: OpenedState, device: Device, keptName: String?
    ) async -> SignInOutcome {
        do throws(LinkFailure) {
            let link = try await found(id)
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
            return .linkAuthorized(location: try location(of: after, content))
        } catch {
            return .linkFailed(error, link: id, returnTo: opened.returnTo)
        }
    }
}
