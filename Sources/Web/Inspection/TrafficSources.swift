import Accounts
import Coding
import Synchronization

/// Whether one or several addresses request the sign-in pages: a proxy that hides its visitors makes them one, and they
/// share one rate limit. Remembers the present hour and the previous one, and one address of each.
final class TrafficSources: Sendable {
    private static let period: Int64 = 3600

    private struct Hour {
        var number: Int64
        var requests = 0
        var first: String?
        var hasOthers = false
    }

    private struct State {
        var current = Hour(number: .min)
        var previous = Hour(number: .min)

        mutating func advance(to number: Int64) {
            guard number != current.number else { return }
            // A clock that goes back, or leaps, starts anew.
            previous = number == current.number &+ 1 ? current : Hour(number: number &- 1)
            current = Hour(number: number)
        }
    }

    private let clock: any WallClock
    private let state = Mutex(State())

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// - Parameter client: its address as text.
    func record(_ client: String) {
        let number = clock.now().seconds / Self.period
        state.withLock { state in
            state.advance(to: number)
            state.current.requests += 1
            if let first = state.current.first {
                if first != client { state.current.hasOthers = true }
            } else {
                state.current.first = client
            }
        }
    }

    /// Of this hour and the previous one.
    var summary: InspectionReport.Traffic {
        let number = clock.now().seconds / Self.period
        return state.withLock { state in
            state.advance(to: number)
            let hours = [state.current, state.previous]
            let addresses = Set(hours.compactMap(\.first))
            let isOne = addresses.count == 1 && !hours.contains(where: \.hasOthers)
            return InspectionReport.Traffic(
                requests: Int64(hours.reduce(0) { $0 + $1.requests }),
                onlyAddress: isOne ? addresses.first : nil)
        }
    }
}
