import Testing

enum SourceRules {
    static func uncheckedTypes(_ repository: Repository) -> [String] {
        let pattern = /(?:class|struct|enum|actor|extension)\s+([\w.]+)[^{}]*@unchecked\s+Sendable/
        return repository.sources.flatMap { path in
            (repository.code[path] ?? "").matches(of: pattern).map { "\(path) \($0.1)" }
        }
    }

    /// Every `@unchecked`, whatever it stands on: none may escape the pattern above.
    static func uncheckedCount(_ repository: Repository) -> Int {
        repository.sources.reduce(0) { $0 + (repository.code[$1] ?? "").matches(of: /@unchecked/).count }
    }

    static func unsafeCode(_ repository: Repository) -> [(place: String, path: String)] {
        repository.occurrences(of: #"\bunsafe\b|@safe\b"#, inCodeOf: repository.sources)
    }

    static func traps(_ repository: Repository) -> [(place: String, path: String)] {
        let words: Pattern =
            #"\bfatalError\b|\bpreconditionFailure\b|\bprecondition\b|\bassertionFailure\b|\btry!|\bas!|[\w)\]}]!(?![=\w])"#
        return repository.occurrences(of: words, inCodeOf: repository.sources)
    }

    static func unstructuredTasks(_ repository: Repository) -> [(place: String, path: String)] {
        let pattern: Pattern =
            #"\bTask\s*(?:<[^>]*>)?\s*[({]|\bTask\s*(?:<[^>]*>)?\s*\.\s*(?:detached|immediate|immediateDetached|init|startOnMainActor)\b"#
        return repository.occurrences(of: pattern, inCodeOf: repository.sources)
    }

    static func threads(_ repository: Repository) -> [(place: String, path: String)] {
        repository.occurrences(
            of: #"\bpthread_create\s*\(|\bThread\s*[({]|\bDispatchQueue\b|\bdetachNewThread\b"#,
            inCodeOf: repository.sources)
    }

    /// Foundation's `Process`, in any Swift file, tests too: with many open descriptors it ends the process that uses it.
    static func foundationProcesses(_ repository: Repository) -> [String] {
        let files = repository.files.filter { $0.key.hasSuffix(".swift") && $0.value.contains("Process") }
        // Written so that it does not find itself.
        let pattern: Pattern = #"\b[P]rocess\b"#
        return files.keys.sorted().filter { pattern.isIn(SwiftCode.of(files[$0] ?? "")) }
    }

    /// Marks of unfinished work, in any file.
    static func marks(_ repository: Repository) -> [String] {
        // Put together here, so that this file does not hold what it looks for.
        let marks = ["FIX" + "ME", "TO" + "DO"]
        return repository.paths.filter { path in
            let text = repository.files[path] ?? ""
            return marks.contains { mark in
                text.contains(mark)
                    && text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" })
                        .contains { $0 == mark }
            }
        }
    }

    static func longFiles(_ repository: Repository) -> [String] {
        let endings = [".swift", ".py", ".sh", ".js", ".css", ".h", ".c", ".md"]
        return repository.paths.filter { path in
            guard endings.contains(where: path.hasSuffix) else { return false }
            let lines = (repository.files[path] ?? "").split(separator: "\n", omittingEmptySubsequences: false).count
            // The last line ends with a line break.
            return lines - 1 > AllowLists.longestFile
        }
    }

    /// Places outside the list, whose entries are files or folders.
    static func outside(_ list: [String: String], _ found: [(place: String, path: String)]) -> [String] {
        found.filter { entry in
            !list.keys.contains { entry.path == $0 || ($0.hasSuffix("/") && entry.path.hasPrefix($0)) }
        }
        .map(\.place)
    }

    /// Entries of the list that nothing needs.
    static func unneeded(_ list: [String: String], _ found: [(place: String, path: String)]) -> [String] {
        list.keys.filter { key in !found.contains { $0.path == key || (key.hasSuffix("/") && $0.path.hasPrefix(key)) } }
    }
}

@Suite struct ArchitectureAllowListTests {
    @Test func uncheckedSendableIsListed() {
        let found = SourceRules.uncheckedTypes(.real)
        #expect(Set(found).subtracting(AllowLists.unchecked.keys).isEmpty)
        #expect(Set(AllowLists.unchecked.keys).subtracting(found).isEmpty, "remove what nobody needs")
        #expect(found.count == SourceRules.uncheckedCount(.real))
    }

    @Test func unsafeCodeTrapsTasksAndThreadsAreListed() {
        for (list, found) in [
            (AllowLists.unsafe, SourceRules.unsafeCode(.real)), (AllowLists.traps, SourceRules.traps(.real)),
            (AllowLists.unstructuredTasks, SourceRules.unstructuredTasks(.real)),
            (AllowLists.threads, SourceRules.threads(.real)),
        ] {
            #expect(SourceRules.outside(list, found) == [])
            #expect(SourceRules.unneeded(list, found) == [])
        }
    }

    @Test func programsAreNotStartedByFoundation() {
        #expect(SourceRules.foundationProcesses(.real) == [], "use Tests/Support/ChildProcesses")
    }

    @Test func everyEntryHasAReason() {
        let lists = [
            AllowLists.unchecked, AllowLists.unsafe, AllowLists.traps, AllowLists.unstructuredTasks, AllowLists.threads,
        ]
        for (entry, reason) in lists.joined() { #expect(reason.count >= 12, "\(entry)") }
        for exception in ImportRules.exceptions { #expect(exception.reason.count >= 12, "\(exception.file)") }
    }

    @Test func noFileIsMarkedUnfinishedOrTooLong() {
        #expect(SourceRules.marks(.real) == [])
        #expect(SourceRules.longFiles(.real) == [])
    }

    // MARK: Each rule finds what is planted

    private func planted(_ text: String, at path: String = "Sources/Web/A.swift") -> Repository {
        Repository(planted: [path: text])
    }

    @Test(
        "Planted @unchecked is found",
        arguments: [
            "final class A: @unchecked Sendable {}", "struct B<T>: Equatable, @unchecked Sendable where T: Any {}",
            "extension C.D: @unchecked Sendable {}", "class E: F,\n    @unchecked Sendable\n{}",
        ])
    func plantedUncheckedIsFound(text: String) {
        #expect(SourceRules.uncheckedTypes(planted(text)).count == 1)
        #expect(SourceRules.uncheckedCount(planted(text)) == 1)
    }

    @Test(
        "Planted unsafe code is found",
        arguments: [
            "let a = unsafe b()", "@safe final class A {}", "nonisolated(unsafe) var a = 1", "@unsafe func a() {}",
            "let a = \"\\(unsafe b())\"", "let a = \"//\"; unsafe b()", "let a = #\"\\\"#; unsafe b()",
        ])
    func plantedUnsafeIsFound(text: String) {
        #expect(
            SourceRules.outside(AllowLists.unsafe, SourceRules.unsafeCode(planted(text))) == ["Sources/Web/A.swift:1"])
    }

    @Test(
        "Texts and comments are not unsafe code",
        arguments: [
            "let a = \"'unsafe-inline'\"", "// unsafe", "/* /* */ unsafe */ let a = 1",
            "let a = #\"\"\" unsafe \"\"\"#",
            "func isUnsafe() {}",
        ])
    func wordsAreNotUnsafe(text: String) {
        #expect(SourceRules.unsafeCode(planted(text)).isEmpty)
    }

    @Test(
        "A planted trap is found",
        arguments: [
            "fatalError()", "try! a()", "let a = b as! C", "preconditionFailure(\"x\")", "precondition(a)", "a!.b()",
            "a[0]!", "a()! + 1", "return a!",
        ])
    func plantedTrapsAreFound(text: String) {
        #expect(SourceRules.traps(planted(text)).count == 1)
    }

    @Test("Comparisons and negations are not traps", arguments: ["a != b", "!a", "if !a.isEmpty && !b {}", "\"a!\""])
    func operatorsAreNotTraps(text: String) {
        #expect(SourceRules.traps(planted(text)).isEmpty)
    }

    @Test(
        "A planted task is found",
        arguments: [
            "Task { a() }", "Task.detached { a() }", "Task<Void, Never> { a() }", "Task(priority: .high) { a() }",
            "Task.immediate { a() }", "let a = Task.init { }",
        ])
    func plantedTasksAreFound(text: String) {
        #expect(SourceRules.unstructuredTasks(planted(text)).count == 1)
    }

    @Test(
        "Structured work is not reported as a task",
        arguments: [
            "await Task.yield()", "Task.isCancelled", "group.addTask { a() }", "final class A: TaskExecutor {",
        ])
    func structuredWorkIsNoTask(text: String) {
        #expect(SourceRules.unstructuredTasks(planted(text)).isEmpty)
    }

    @Test(
        "A planted Process is found",
        arguments: [
            "let a = Process()", "let a = Foundation.Process ()", "let a: Process = .init()", "Process.run(b, [])",
        ], ["Sources/Web/A.swift", "Tests/Unit/WebTests/A.swift"])
    func plantedProcessesAreFound(text: String, path: String) {
        #expect(SourceRules.foundationProcesses(planted(text, at: path)) == [path])
    }

    @Test(
        "Other types named Process are allowed",
        arguments: [
            "let a = ServerProcess()", "ChildProcess(b)", "ProcessInfo.processInfo", "// Process()", "\"Process()\"",
        ])
    func otherProcessesAreNotFound(text: String) {
        #expect(SourceRules.foundationProcesses(planted(text)) == [])
    }

    @Test func plantedThreadsMarksAndLongFilesAreFound() {
        #expect(SourceRules.threads(planted("DispatchQueue.main.async {}")).count == 1)
        #expect(SourceRules.marks(planted("// " + "FIX" + "ME later")).count == 1)
        #expect(SourceRules.marks(planted("TO" + "DO: x", at: "docs/a.md")).count == 1)
        #expect(SourceRules.marks(planted("MASTO" + "DON")) == [])
        #expect(SourceRules.longFiles(planted(String(repeating: "\n", count: AllowLists.longestFile + 1))).count == 1)
        #expect(SourceRules.longFiles(planted(String(repeating: "\n", count: AllowLists.longestFile))) == [])
    }

    @Test func unusedEntryIsFound() {
        let list = ["Sources/Web/A.swift": "reason", "Sources/Crypto/": "reason"]
        #expect(Set(SourceRules.unneeded(list, [])) == Set(list.keys))
        #expect(SourceRules.unneeded(list, [("Sources/Web/A.swift:1", "Sources/Web/A.swift")]) == ["Sources/Crypto/"])
    }
}
