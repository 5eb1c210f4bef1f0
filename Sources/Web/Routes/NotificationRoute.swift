import Accounts
import HTTP
import HTTPTypes
import Logging

/// `POST /apple/notifications`: Apple's servers report what happened to an account.
struct NotificationRoute: Sendable {
    let responses: WebResponses
    let notifications: Notifications
    /// Charged, and checked, only for refusals: what Apple signed is accepted whoever else posts from its address, as
    /// all do behind a load balancer.
    let failures: RateLimiter
    let stopwatch: Stopwatch

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        do {
            _ = try await notifications.receive(request.body)
        } catch {
            // Not without Apple's keys: the notification may be Apple's own, with a new key.
            if case .refused = error,
                case .refused(let retryAfter) = failures.consume(request.client, now: stopwatch.milliseconds)
            {
                throw .tooManyRequests(retryAfter: retryAfter)
            }
            // Logged where it happened.
            throw WebFailure(error.failure, level: .debug)
        }
        return responses.empty(.ok)
    }
}
