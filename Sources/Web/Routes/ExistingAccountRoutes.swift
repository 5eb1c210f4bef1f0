import Accounts
import Coding
import HTTP
import HTTPTypes

/// `POST /login/existing`: a new person's answer to "Already have an account?".
struct ExistingAccountRoutes: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let cookies: Cookies
    let access: AccountAccess
    let signIn: SignIn
    let answers: SignInAnswers

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        let form = try access.form(request, ["waiting", "choice"])
        guard let choice = form["choice"].flatMap({ ExistingAccountChoice(rawValue: $0) }) else {
            throw .badRequest("choice must be connect or new")
        }
        guard let id = form["waiting"].flatMap({ WaitingID(parsing: $0) }) else { throw WebFailure(.linkUnknown) }
        guard choice == .new || configuration.login.passwordURL != nil else { throw WebFailure(.notFound) }
        let locale = responses.locale(of: request)
        let binding = cookies.bindingCookie(in: request.fields)
        let answer = try await answering(FailedVisit(language: locale.chosen)) { () throws(Failure) in
            try await signIn.answerExisting(
                id, choice, binding: binding, device: DeviceDescription.device(of: request))
        }
        switch answer {
        case .connect(let ticket):
            let location = AddressQuery.append(
                "ticket=\(ticket.reveal())", to: configuration.login.passwordURL ?? "")
            return responses.redirect(to: location, cookies: answers.keeping(binding))
        case .signIn(let outcome):
            return try answers.answer(outcome, binding: binding, locale: locale, request: request)
        }
    }
}
