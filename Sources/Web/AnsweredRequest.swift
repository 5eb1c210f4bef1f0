import Accounts
import Coding
import HTTP
import Storage

extension ServerRequest {
    /// Answers in the name of `actor`. What it reads for that is of no use once the client has left.
    func answered(
        for actor: AuditActor, _ handle: () async throws(Failure) -> ServerResponse
    ) async throws(Failure) -> ServerResponse {
        let client = departure.map { departure in
            let client = AwaitedClient()
            departure.whenLeft { client.leave() }
            return client
        }
        let answer = await AuditActor.$current.withValue(actor) {
            await AwaitedClient.$current.withValue(client) { await Result(handle) }
        }
        return try answer.get()
    }
}

/// Runs a step of the domain, whose failure is shown to a visitor.
func answering<Value>(
    _ visit: FailedVisit? = nil, _ step: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    do {
        return try await step()
    } catch {
        throw error.inSignIn.with(visit)
    }
}

/// Runs a step of the domain for an app or its backend.
func answeringApps<Value>(_ step: () async throws(Failure) -> Value) async throws(Failure) -> Value {
    do {
        return try await step()
    } catch {
        throw error.ofApp
    }
}
