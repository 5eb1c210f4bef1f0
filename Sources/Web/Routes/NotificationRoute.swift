import HTTP
import HTTPTypes
import RelyingParty

/// `POST /apple/notifications`: Apple's servers telling what happened to an account.
struct NotificationRoute: Sendable {
    let configuration: WebConfiguration
    let responses: WebResponses
    let notifications: Notifications
    /// Charged for what fails verification only, so that nobody can crowd out Apple.
    let failures: RateLimiter
    let stopwatch: Stopwatch

    func post(_ request: ServerRequest) async throws(WebFailure) -> ServerResponse {
        guard request.body.count <= configuration.limits.notificationBody else { throw .contentTooLarge }
        let now = stopwatch.milliseconds
        if case .refused(let retryAfter) = failures.check(request.client, now: now) {
            throw .tooManyRequests(retryAfter: retryAfter)
        }
        do {
            _ = try await notifications.receive(request.body)
        } catch {
            // What could not be verified is charged too: a made-up kid is told from a new one only by the next fetch,
            // and each costs a warning in the log.
            switch error {
            case .refused, .keysUnavailable: _ = failures.take(request.client, now: now)
            // Apple's own: those for an app nobody named must not crowd out the others.
            case .otherAudience, .storage: break
            }
            throw .notification(error)
        }
        return responses.empty(.ok)
    }
}
