internal import Sockets
internal import Synchronization

/// How much all peers together may make a process keep, over all loops: heads and contents of unanswered requests, and
/// answers that nobody takes. Otherwise the maximum number of connections could each use their full allowance, at no
/// cost to the peers.
///
/// One address may use a quarter of it, so that room is left for others.
package final class MemoryBudget: Sendable {
    /// Each connection's own allowance, in bytes: a usual request and its answer.
    package static let free = 16_384
    /// The default, in bytes: 48 of the largest contents allowed by default.
    package static let standard = 24 << 20

    private struct Account {
        var left: Int
        var byAddress: [IPAddress: Int] = [:]
        /// The most that was used at once since `consumePeak`.
        var peak = 0
    }

    private let account: Mutex<Account>
    private let bytes: Int

    package init(bytes: Int = MemoryBudget.standard) {
        self.bytes = bytes
        account = Mutex(Account(left: bytes))
    }

    /// What is still free, in bytes; negative when memory that cannot be refused exceeds the budget.
    package var remaining: Int { account.withLock { $0.left } }

    /// What is used, in bytes.
    package var used: Int { bytes - remaining }

    /// The most that was used at once since the last call, in bytes.
    package func consumePeak() -> Int {
        account.withLock { account in
            defer { account.peak = bytes - account.left }
            return account.peak
        }
    }

    /// - Parameters:
    ///   - address: whose share it counts against; nil for a proxy, which carries many.
    ///   - isForced: whether to reserve it in any case.
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

/// What one connection keeps, in bytes. The part beyond its own allowance is taken from the budget, and returned with
/// it. Belongs to the loop of its connection.
final class MemoryAccount {
    /// Taken in steps, so that counting costs nothing compared with reading.
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

    deinit { if held > 0 { budget.release(held, of: address) } }

    /// The size of a request's fields as strings: each is three, and has entries in two arrays.
    static func size(ofHead bytes: Int, fields: Int) -> Int { 1024 + bytes + 192 * fields }

    /// Counts `more` bytes; false, without counting, when there is no room for them.
    func keep(_ more: Int) -> Bool { count(more, isForced: false) }

    /// Changes the counted size; false, keeping the old one, when there is no room.
    /// - Parameter isForced: for memory that is already in use; others find less room.
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

    func release(_ count: Int) {
        size -= count
        // Do not return every byte that is needed again soon.
        let spare = size <= MemoryBudget.free ? held : held - (size - MemoryBudget.free) - 2 * Self.step
        guard spare > 0 else { return }
        budget.release(spare, of: address)
        held -= spare
    }
}
