internal import Sockets
internal import Synchronization

/// How much all peers together may make a process keep, over all loops: the heads and contents of requests that are not
/// answered yet, and answers that nobody takes. Without it, as many connections as there may be would each have all that
/// one may have, and it would cost nobody but us anything.
///
/// One address may have a quarter of it, so that one alone takes no room from the others.
package final class MemoryBudget: Sendable {
    /// Each connection's own, in bytes: a usual request and its answer. The number of connections bounds these.
    package static let free = 16_384
    /// What a server has unless told otherwise, in bytes: 48 of the largest contents there are by default.
    package static let standard = 24 << 20

    private struct Account {
        var left: Int
        var byAddress: [IPAddress: Int] = [:]
        /// The most that was taken at a time since `takePeak`.
        var peak = 0
    }

    private let account: Mutex<Account>
    private let bytes: Int

    /// - Parameter bytes: in all.
    package init(bytes: Int = MemoryBudget.standard) {
        self.bytes = bytes
        account = Mutex(Account(left: bytes))
    }

    /// What may still be taken, in bytes; below zero when what cannot be refused has taken more than there is.
    package var remaining: Int { account.withLock { $0.left } }

    /// What is taken, in bytes.
    package var taken: Int { bytes - remaining }

    /// The most that was taken at a time since the last call, in bytes.
    package func consumePeak() -> Int {
        account.withLock { account in
            defer { account.peak = bytes - account.left }
            return account.peak
        }
    }

    /// - Parameters:
    ///   - address: whose share it is of; nil for a proxy, which has that of all behind it.
    ///   - isForced: whether it is taken in any case.
    fileprivate func reserve(_ count: Int, for address: IPAddress?, isForced: Bool) -> Bool {
        account.withLock { account in
            let here = address.map { account.byAddress[$0, default: 0] } ?? 0
            guard isForced || count <= account.left && (address == nil || here + count <= bytes / 4) else {
                return false
            }
            account.left -= count
            if let address { account.byAddress[address] = here + count }
            account.peak = max(account.peak, bytes - account.left)
            return true
        }
    }

    fileprivate func release(_ count: Int, of address: IPAddress?) {
        account.withLock { account in
            account.left += count
            guard let address else { return }
            let here = account.byAddress[address, default: 0] - count
            account.byAddress[address] = here > 0 ? here : nil
        }
    }
}

/// What one connection keeps, in bytes: what is beyond its own share is taken from the budget, and given back with it.
/// Belongs to the loop of its connection.
final class MemoryAccount {
    /// Taken in steps, so that counting costs nothing beside reading.
    private static let step = 8192

    private let budget: MemoryBudget
    private let address: IPAddress?
    private(set) var size = 0
    private var held = 0

    /// - Parameter address: of the peer; nil for a trusted proxy.
    init(_ budget: MemoryBudget, address: IPAddress?) {
        self.budget = budget
        self.address = address?.subscriber
    }

    deinit {
        if held > 0 { budget.release(held, of: address) }
    }

    /// What the fields of a request take once they are strings: each is three, and has its place in two arrays.
    static func size(ofHead bytes: Int, fields: Int) -> Int { 1024 + bytes + 192 * fields }

    /// Counts `more` bytes; false, and nothing is counted, when there is no room for them.
    func keep(_ more: Int) -> Bool { count(more, isForced: false) }

    /// For what has grown or shrunk: false, and the old size is counted still, when there is no room for the new one.
    /// - Parameter isForced: for what is there already and is not taken back: others find less room for it.
    @discardableResult
    func keep(_ new: Int, insteadOf old: Int, isForced: Bool = false) -> Bool {
        if new > old { return count(new - old, isForced: isForced) }
        release(old - new)
        return true
    }

    private func count(_ more: Int, isForced: Bool) -> Bool {
        let beyond = size + more - MemoryBudget.free - held
        if beyond > 0 {
            let taken = (beyond + Self.step - 1) / Self.step * Self.step
            guard budget.reserve(taken, for: address, isForced: isForced) else { return false }
            held += taken
        }
        size += more
        return true
    }

    /// It is no longer kept.
    func release(_ count: Int) {
        size -= count
        // Not for every byte that goes and comes again.
        let spare = size <= MemoryBudget.free ? held : held - (size - MemoryBudget.free) - 2 * Self.step
        guard spare > 0 else { return }
        budget.release(spare, of: address)
        held -= spare
    }
}
