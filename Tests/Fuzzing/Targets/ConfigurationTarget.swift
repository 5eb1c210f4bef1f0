import Coding

@testable import Bramley

extension FuzzTarget {
    /// The configuration's file: every problem has words, and no text ends the process. Files that it names are not
    /// opened here.
    static let configuration = FuzzTarget(name: "configuration", maximumLength: 4096) { input throws(Finding) in
        let problems = ProblemList()
        var file = ConfigurationFile(name: "config.json", problems: problems)
        file.read(input)
        for problem in problems.problems {
            try hold(!problem.fault.isEmpty && !problem.remedy.isEmpty, "a problem without words")
        }
        try hold(file.isReadable || !problems.problems.isEmpty, "unreadable without a word")
        for name in file.values.keys { try hold(ConfigurationTable.byName[name] != nil, "a value of no key: \(name)") }
        let text = String(decoding: input, as: UTF8.self)
        if !text.contains("File"), !text.contains("irectory"), !text.contains("\\u") {
            _ = try? ConfigurationLoader.load(ConfigurationInput(content: input))
        }
        return file.isReadable && !file.values.isEmpty ? input : nil
    }
}
