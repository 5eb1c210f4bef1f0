package import Coding
import Storage
import Synchronization

/// What came of a request for a document.
package enum DocumentAnswer: Sendable {
    /// Status 200 and JSON. `lifetime`: the seconds for which its fields allow it to be kept.
    case content([UInt8], lifetime: Int64)
    /// The host says something else; why it is not a document.
    case refused(String)
    /// The host does not answer; why.
    case failed(String)
}

/// The metadata documents of clients, fetched and kept in memory.
///
/// Strangers choose what is fetched: so only from allowed hosts, one fetch at a time for a document, few per minute.
/// They cannot use up the fetches of a document that somebody has allowed.
package final class ClientDocuments: Sendable {
    /// Fetches per minute, from a host and in all; as many of each document that somebody has allowed, and of them all.
    package static let fetchesPerHost = 10
    package static let fetchesPerMinute = 60
    /// Documents in memory.
    package static let capacity = 256
    /// How long a valid one is kept, whatever its fields say, in seconds.
    package static let lifetimes: ClosedRange<Int64> = 300...86_400
    /// How much longer it serves while its host fails, in seconds.
    package static let grace: Int64 = 86_400

    private let state: Mutex<DocumentState>
    private let clock: any WallClock
    private let fetch: @Sendable (_ url: String) async -> DocumentAnswer

    /// - Parameters:
    ///   - hosts: `openid.clientDocuments`
    ///   - fetch: one request, within all limits of time, size and addresses.
    package init(
        hosts: [String], clock: any WallClock, fetch: @escaping @Sendable (_ url: String) async -> DocumentAnswer
    ) {
        state = Mutex(DocumentState(hosts: hosts))
        self.clock = clock
        self.fetch = fetch
    }

    /// May be replaced while serving; what is removed is refused at once.
    package var hosts: [String] {
        get { state.withLock { $0.hosts } }
        set { state.withLock { $0.hosts = newValue } }
    }

    /// - Parameters:
    ///   - isKnown: whether somebody has allowed it.
    ///   - moment: one fetched later, unless its host fails.
    func document(
        at url: String, isKnown: Bool = false, after moment: Timestamp? = nil
    ) async throws(Failure) -> KeptDocument {
        while true {
            switch state.withLock({ $0.step(url, isKnown: isKnown, after: moment, at: clock.now()) }) {
            case .found(let kept): return kept
            case .refused(let failure): throw failure
            case .lead: return try await lead(url)
            case .wait: if let outcome = await wait(url) { return try outcome.get() }
            }
        }
    }

    private func lead(_ url: String) async throws(Failure) -> KeptDocument {
        let answer = await fetch(url)
        let (outcome, waiters) = state.withLock { $0.end(url, answer, at: clock.now()) }
        // A visitor who has left says nothing about the host: one of the others fetches.
        let isAborted = if case .failed = answer { Task.isCancelled } else { false }
        for waiter in waiters { waiter.resume(returning: isAborted ? nil : outcome) }
        return try outcome.get()
    }

    /// - Returns: nil when the fetch has ended without an outcome.
    private func wait(_ url: String) async -> DocumentState.Outcome? {
        await withCheckedContinuation { waiter in
            if !state.withLock({ $0.add(waiter, to: url) }) { waiter.resume(returning: nil) }
        }
    }
}

struct KeptDocument: Sendable {
    let document: ClientDocument
    let fetchedAt: Timestamp
    fileprivate let freshUntil: Timestamp
}

/// The state behind `ClientDocuments`: decides without I/O. Guarded by one lock.
private struct DocumentState {
    typealias Outcome = Result<KeptDocument, Failure>
    typealias Waiter = CheckedContinuation<Outcome?, Never>

    enum Step {
        case found(KeptDocument)
        case refused(Failure)
        case lead, wait
    }

    var hosts: [String]
    private var kept: [String: KeptDocument] = [:]
    /// Those who wait for the fetch of a document, by its address.
    private var fetching: [String: [Waiter]] = [:]
    private var minute: Int64 = 0
    /// Fetches of this minute, by host; of those that somebody has allowed (`true`), by document.
    private var counts: [Bool: [String: Int]] = [:]

    init(hosts: [String]) { self.hosts = hosts }

    mutating func step(_ url: String, isKnown: Bool, after moment: Timestamp?, at now: Timestamp) -> Step {
        guard ClientDocument.admits(url, hosts) else {
            return .refused(.document(url, "its host is not in openid.clientDocuments"))
        }
        if let kept = kept[url], now < kept.freshUntil, moment.map({ kept.fetchedAt > $0 }) ?? true {
            return .found(kept)
        }
        if fetching[url] != nil { return .wait }
        if minute != now.seconds / 60 { (minute, counts) = (now.seconds / 60, [:]) }
        let host = ClientDocument.host(of: url)
        let (name, counted) = (isKnown ? url : host, counts[isKnown, default: [:]])
        guard counted[name, default: 0] < ClientDocuments.fetchesPerHost,
            counted.values.reduce(0, +) < ClientDocuments.fetchesPerMinute
        else {
            if let kept = former(url, at: now) { return .found(kept) }
            var failure = Failure(.tooManyRequests, "too many fetches of client documents, \(host)")
            failure.retryAfter = 60
            return .refused(failure)
        }
        counts[isKnown, default: [:]][name, default: 0] += 1
        fetching[url] = []
        return .lead
    }

    mutating func add(_ waiter: Waiter, to url: String) -> Bool {
        guard fetching[url] != nil else { return false }
        fetching[url]?.append(waiter)
        return true
    }

    mutating func end(_ url: String, _ answer: DocumentAnswer, at now: Timestamp) -> (Outcome, [Waiter]) {
        let waiters = fetching.removeValue(forKey: url) ?? []
        switch answer {
        case .content(let bytes, let lifetime):
            kept[url] = nil
            let outcome = Result { () throws(Failure) in
                keep(try ClientDocument(bytes, at: url), url, lifetime, at: now)
            }
            return (outcome, waiters)
        case .refused(let reason):
            // Not kept (§5.2), and what was there has been withdrawn.
            kept[url] = nil
            return (.failure(.document(url, reason)), waiters)
        case .failed(let reason):
            return (former(url, at: now).map { .success($0) } ?? .failure(.document(url, reason)), waiters)
        }
    }

    private mutating func keep(
        _ document: ClientDocument, _ url: String, _ lifetime: Int64, at now: Timestamp
    ) -> KeptDocument {
        if kept.count >= ClientDocuments.capacity,
            let oldest = kept.min(by: { $0.value.fetchedAt < $1.value.fetchedAt })?.key
        {
            kept[oldest] = nil
        }
        let limits = ClientDocuments.lifetimes
        let new = KeptDocument(
            document: document, fetchedAt: now,
            freshUntil: now.adding(seconds: min(max(lifetime, limits.lowerBound), limits.upperBound)))
        kept[url] = new
        return new
    }

    /// The last valid one, while its host fails.
    private func former(_ url: String, at now: Timestamp) -> KeptDocument? {
        kept[url].flatMap { now < $0.freshUntil.adding(seconds: ClientDocuments.grace) ? $0 : nil }
    }
}
