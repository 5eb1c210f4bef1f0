import Accounts
import Coding
import Crypto
import HTTPTypes
import Synchronization

/// Remembers for a few seconds where a browser was sent after signing in, to detect a target that sends it straight
/// back instead of looping.
///
/// In memory, bounded by `capacity`, at about 100 bytes each: old visits stay until it is reached. Forgetting one only
/// costs another redirect.
final class BounceMemory: Sendable {
    /// Coming back within this many seconds is a bounce.
    static let window: Int64 = 10

    private let visits = Mutex<[Digest256: (target: Digest256, at: Timestamp)]>([:])
    private let capacity: Int

    init(capacity: Int = 4096) { self.capacity = capacity }

    /// The target of a visit that ended by cancelling a sign-in for this one. No location begins like this.
    static func cancelled(_ target: ReturnTarget) -> String { "cancelled \(target.location)" }

    /// - Parameter browsers: what identifies this browser: hashes of its binding and of its session's token.
    func sent(_ browsers: [Digest256], to target: String, at now: Timestamp) {
        let visit = (target: SHA256.hash(utf8: target), at: now)
        visits.withLock { visits in
            if visits.count + browsers.count > capacity {
                visits = visits.filter { now < $0.value.at.adding(seconds: Self.window) }
            }
            if visits.count + browsers.count > capacity { visits.removeAll() }
            for browser in browsers { visits[browser] = visit }
        }
    }

    /// Forgets where a request's browser was sent: a person who signs out, ending `session`, comes back on purpose.
    func forget(_ session: Session?, _ fields: HTTPFields, _ cookies: Cookies) {
        var browsers = session.map { [$0.tokenHash] } ?? []
        if let binding = cookies.browserBinding(in: fields) { browsers.append(binding.hash) }
        visits.withLock { visits in for browser in browsers { visits[browser] = nil } }
    }

    /// Whether it was sent to this target within the window. Forgets it: the explanation is shown once.
    func consumeBounce(_ browser: Digest256, target: String, at now: Timestamp) -> Bool {
        let hash = SHA256.hash(utf8: target)
        return visits.withLock { visits in
            guard let visit = visits[browser], visit.target == hash, now < visit.at.adding(seconds: Self.window) else {
                return false
            }
            visits[browser] = nil
            return true
        }
    }
}
