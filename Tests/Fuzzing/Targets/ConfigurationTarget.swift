import Accounts
import Coding

@testable import Bramley

extension FuzzTarget {
    /// The configuration's file: every problem has words, and no text ends the process. Files that it names are not
    /// opened here.
    static let configuration = FuzzTarget(name: "configuration", maximumLength: 4096) { input throws(Finding) in
        let problems = ProblemList()
        var file = ConfigurationFile(name: "config.json", problems: problems)
        file.read(input)
        try hold(file.isReadable || !problems.problems.isEmpty, "unreadable without a word")
        for name in file.values.keys { try hold(ConfigurationTable.byName[name] != nil, "a value of no key: \(name)") }
        let text = String(decoding: input, as: UTF8.self)
        if !text.contains("File"), !text.contains("irectory"), !text.contains("\\u") {
            // As the loader does with no environment and no flags: to look for all their names takes twice as long.
            let none = ConfigurationTexts(problems: problems)
            _ = ConfigurationBuilder(
                values: ConfigurationValues(flags: none, environment: none, file: file, problems: problems),
                allowsSimulatedApple: false, now: now, environment: [:]
            ).build()
        }
        for problem in problems.problems {
            try hold(!problem.fault.isEmpty && !problem.remedy.isEmpty, "a problem without words")
        }
        return file.isReadable && !file.values.isEmpty ? input : nil
    }

    private static let now = Timestamp(seconds: 1_800_000_000)
}
