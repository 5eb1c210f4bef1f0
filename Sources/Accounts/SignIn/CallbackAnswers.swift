package import Coding
package import Crypto
import Synchronization

/// Lets identical posts of one callback share one piece of work and, for a while, its answer.
///
/// The first post of a key does the work in its own task. Posts that arrive in the meantime wait for it; posts within
/// `lifetime` afterwards get the same answer from memory. A cancelled waiter still waits: the work has its own deadlines.
package final class CallbackAnswers<Outcome: Sendable>: Sendable {
    /// How long an answer is kept, in milliseconds.
    package static var lifetime: Int64 { 30_000 }

    /// The state of a key when a post arrives.
    private enum Entrance: Sendable {
        /// The first post: do the work, then call `finish`.
        case owner
        /// The memory is full: do the work without sharing it. The store still enforces single use.
        case alone
        case answered(Outcome)
    }

    private enum Entry {
        case running([CheckedContinuation<Entrance, Never>])
        case answered(Outcome, at: Timestamp)
    }

    private struct State {
        var entries: [Digest256: Entry] = [:]
        /// Keys of answered entries, oldest first, beginning at `oldest`.
        var answered: [Digest256] = []
        var oldest = 0

        /// Forgets the oldest answer. Removing its key from the list at once would move all others, so keys are removed
        /// when they are half of the list.
        mutating func dropOldest() {
            entries[answered[oldest]] = nil
            oldest += 1
            if oldest * 2 >= answered.count {
                answered.removeFirst(oldest)
                oldest = 0
            }
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let clock: any WallClock
    private let isKept: @Sendable (Outcome) -> Bool

    /// Remembers `capacity` keys, running and answered together. Answers that are not kept let later posts begin anew.
    package init(capacity: Int = 4_096, clock: any WallClock, keeping isKept: @escaping @Sendable (Outcome) -> Bool) {
        self.capacity = capacity
        self.clock = clock
        self.isKept = isKept
    }

    package var count: Int { state.withLock { $0.entries.count } }

    /// The number of posts that wait for the first of their key.
    package var waiting: Int {
        state.withLock { state in
            state.entries.values.reduce(0) { total, entry in
                if case .running(let waiters) = entry { total + waiters.count } else { total }
            }
        }
    }

    /// Forgets expired answers, which otherwise stay in memory until the next post.
    package func dropExpired() {
        let now = clock.now()
        state.withLock { Self.expire(&$0, now: now) }
    }

    /// The answer for `key`, from memory, from work in progress, or from `work`, and whether another post produced it.
    package func answer(for key: Digest256, work: () async -> Outcome) async -> (outcome: Outcome, isRemembered: Bool) {
        // Looked up and registered under one lock, so no answer can slip in between.
        let entrance = await withCheckedContinuation { continuation in
            let now = clock.now()
            let immediate = state.withLock { state in
                Self.expire(&state, now: now)
                return enlist(continuation, key: key, in: &state)
            }
            if let immediate { continuation.resume(returning: immediate) }
        }
        switch entrance {
        case .answered(let outcome): return (outcome, true)
        case .alone: return (await work(), false)
        case .owner:
            let outcome = await work()
            finish(key, with: outcome)
            return (outcome, false)
        }
    }

    private func enlist(
        _ continuation: CheckedContinuation<Entrance, Never>, key: Digest256, in state: inout State
    ) -> Entrance? {
        switch state.entries[key] {
        case .answered(let outcome, _):
            return .answered(outcome)
        case .running(var waiters):
            // Emptied first, so that the array is not copied on every append.
            state.entries[key] = .running([])
            waiters.append(continuation)
            state.entries[key] = .running(waiters)
            return nil
        case nil:
            if state.entries.count >= capacity {
                guard state.oldest < state.answered.count else { return .alone }
                state.dropOldest()
            }
            state.entries[key] = .running([])
            return .owner
        }
    }

    private func finish(_ key: Digest256, with outcome: Outcome) {
        let now = clock.now()
        let waiters = state.withLock { state in
            var waiters: [CheckedContinuation<Entrance, Never>] = []
            if case .running(let enlisted) = state.entries[key] { waiters = enlisted }
            if isKept(outcome) {
                state.entries[key] = .answered(outcome, at: now)
                state.answered.append(key)
            } else {
                state.entries[key] = nil
            }
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: .answered(outcome)) }
    }

    /// Drops what has expired, and what was answered before the clock was set back.
    private static func expire(_ state: inout State, now: Timestamp) {
        while state.oldest < state.answered.count {
            guard case .answered(_, let moment) = state.entries[state.answered[state.oldest]] else { break }
            guard now >= moment.adding(milliseconds: lifetime) || now < moment else { break }
            state.dropOldest()
        }
    }
}

extension SignInOutcome {
    /// Whether a reload gets this answer again; after a temporary failure it tries again.
    package var isKept: Bool {
        if case .failed(let failure, _, _) = self { !failure.isTemporary } else { true }
    }
}

/// The members of a request for a token or code, encoded unambiguously. At least one must be a secret of 128 bits or
/// more that is neither stored nor logged: Apple's code and token, a nonce, the browser's binding.
///
/// Tokens are derived from this, so that an identical request gets the same one, even after a restart and in another
/// process. The database has only the digest, from which no token can be computed, not even with the sealing key.
struct RequestContent: Redacted {
    private let bytes: [UInt8]
    /// Two requests are identical when this is equal.
    let digest: Digest256

    init(_ members: [String?]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(members.reduce(0) { $0 + 5 + ($1?.utf8.count ?? 0) })
        for member in members {
            let text = (member ?? "").utf8
            bytes.append(member == nil ? 0 : 1)
            bytes += [UInt8](bigEndian: UInt32(truncatingIfNeeded: text.count))
            bytes += text
        }
        self.bytes = bytes
        digest = SHA256.hash(bytes)
    }

    /// The token for this request, HMAC-SHA-256 over its owner (challenge or link) and the content: first under the
    /// current key, for a new token, then under each older key.
    func tokens<Token: SecretToken>(for owner: Digest256, purpose: String, with keyring: SealingKeyring) -> [Token] {
        keyring.keyedHashes(of: owner.bytes + bytes, purpose: .other(purpose)).map {
            Token(unchecked: Token.prefix + Base64URL.encode($0))
        }
    }
}

package enum NewToken: Sendable {
    /// The hash of an existing token.
    case made(Digest256)
    /// A token derived from its session, which the transaction decides.
    case ofBrowser(BrowserTokens)

    package func hash(of session: SessionID, since createdAt: Timestamp) -> Digest256 {
        switch self {
        case .made(let hash): hash
        case .ofBrowser(let tokens): tokens.all(of: session, since: createdAt)[0].hash
        }
    }
}

/// The tokens of a browser's sessions, derived from its binding: its windows, and the same post elsewhere, share one.
package struct BrowserTokens: Redacted {
    private let binding: RequestContent
    private let keyring: SealingKeyring

    package init(of binding: BrowserBinding, with keyring: SealingKeyring) {
        self.binding = RequestContent([binding.cookieValue])
        self.keyring = keyring
    }

    /// The tokens of a session under each key, the first for new ones. Another for each sign-in (`createdAt`).
    package func all(of session: SessionID, since createdAt: Timestamp) -> [SessionToken] {
        binding.tokens(
            for: SHA256.hash(utf8: "\(session)|\(createdAt.milliseconds)"), purpose: "browser-session", with: keyring)
    }
}
