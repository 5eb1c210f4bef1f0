import Synchronization

/// Keeps what fails every request, such as a full disk, from filling the log, and that disk with it: so many lines a
/// second for one reason. The next one has the number of those that were left out.
final class FailureLines: Sendable {
    /// Lines a second with one reason.
    static let rate = 10

    private struct Spell {
        var begin: ContinuousClock.Instant
        var lines = 0
        var unlogged = 0
    }

    private let spells = Mutex<[String: Spell]>([:])

    /// - Parameter code: of the reason; there are few of them.
    /// - Returns: how many lines were left out since the last; nil when this one is to be as well.
    func take(_ code: String, at now: ContinuousClock.Instant) -> Int? {
        spells.withLock { spells in
            var spell = spells[code] ?? Spell(begin: now)
            defer { spells[code] = spell }
            if now - spell.begin >= .seconds(1) {
                spell.begin = now
                spell.lines = 0
            }
            guard spell.lines < Self.rate else {
                spell.unlogged += 1
                return nil
            }
            spell.lines += 1
            defer { spell.unlogged = 0 }
            return spell.unlogged
        }
    }
}
