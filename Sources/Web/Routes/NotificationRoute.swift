import HTTP
import HTTPTypes
import RelyingParty

/// `POST /apple/notifications`: Apple's servers telling what happened to an account.
struct NotificationRoute: Sendable {
    let responses: WebResponses
    let notifications: Notifications
    /// Charged for what is refused, and asked only then: what Apple signed is taken whoever else posts from its address, as
    /// all do behind a balancer that names nobody.
    let failures: RateLimiter
    let stopwatch: Stopwatch

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        do {
            _ = try await notifications.receive(request.body)
        } catch {
            // Not without Apple's keys: those may be Apple's own, with a key that is new.
            if case .refused = error,
                case .refused(let retryAfter) = failures.consume(request.client, now: stopwatch.milliseconds)
            {
                throw .tooManyRequests(retryAfter: retryAfter)
            }
            throw .notification(error)
        }
        return responses.empty(.ok)
    }
}
