import Accounts
import Coding
import HTTP
import Storage

extension ServerRequest {
    /// Answers on behalf of `actor`. Its reads may be dropped once the client has disconnected.
    func answered(
        for actor: AuditActor, _ handle: () async throws(Failure) -> ServerResponse
    ) async throws(Failure) -> ServerResponse {
        let client = departure.map { departure in
            let client = AwaitedClient()
            departure.onLeave { client.leave() }
            return client
        }
        let answer = await AuditActor.$current.withValue(actor) {
            await AwaitedClient.$current.withValue(client) { await Result(handle) }
        }
        return try answer.get()
    }
}
