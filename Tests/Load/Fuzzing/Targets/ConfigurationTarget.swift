import Accounts
import Coding

@testable import Bramley

extension FuzzTarget {
    /// The configuration's file: every problem has words, and no text ends the process. Files that it names are not
    /// opened here.
    static let configuration = FuzzTarget(name: "configuration", maximumLength: 4096) { input throws(Finding) in
        var given = GivenValues(file: "config.json")
        given.read(file: input)
        try hold(given.isComplete || !given.problems.isEmpty, "unreadable without a word")
        for name in given.values.keys { try hold(ConfigurationTable.byName[name] != nil, "a value of no key: \(name)") }
        let builder = ConfigurationBuilder(given, ConfigurationInput(clock: now))
        let text = String(decoding: input, as: UTF8.self)
        if !text.contains("File"), !text.contains("irectory"), !text.contains("\\u") {
            _ = builder.build()
        }
        for problem in builder.problems {
            try hold(!problem.fault.isEmpty && !problem.remedy.isEmpty, "a problem without words")
        }
        return given.isComplete && !given.values.isEmpty ? input : nil
    }

    private static let now = FixedClock()

    private struct FixedClock: WallClock {
        func now() -> Timestamp { Timestamp(seconds: 1_800_000_000) }
    }
}
