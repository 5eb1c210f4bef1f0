import Accounts
import Coding

@testable import Bramley

extension FuzzTarget {
    /// The configuration's file: every problem has words, and no text ends the process. Files that it names are not
    /// opened here.
    static let configuration = FuzzTarget(name: "configuration", maximumLength: 4096) { input throws(Finding) in
        let problems = ProblemList()
        var given = GivenValues(file: "config.json", problems: problems)
        given.read(file: input)
        try hold(given.isComplete || !problems.problems.isEmpty, "unreadable without a word")
        for name in given.values.keys { try hold(ConfigurationTable.byName[name] != nil, "a value of no key: \(name)") }
        let text = String(decoding: input, as: UTF8.self)
        if !text.contains("File"), !text.contains("irectory"), !text.contains("\\u") {
            _ = ConfigurationBuilder(values: ConfigurationValues(given), input: ConfigurationInput(clock: now)).build()
        }
        for problem in problems.problems {
            try hold(!problem.fault.isEmpty && !problem.remedy.isEmpty, "a problem without words")
        }
        return given.isComplete && !given.values.isEmpty ? input : nil
    }

    private static let now = FixedClock()

    private struct FixedClock: WallClock {
        func now() -> Timestamp { Timestamp(seconds: 1_800_000_000) }
    }
}
