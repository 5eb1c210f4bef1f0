import Foundation
import Testing

/// Which target may import which: docs/contribute/architecture.md draws the same graph.
enum ImportRules {
    /// Folder → everything its files may import. The longest folder that fits decides.
    static let allowed: [String: Set<String>] = [
        "Public": [],
        "Sources/Coding": [],
        // Counters and histograms, and the page they are shown on: for every part that has something to count.
        "Sources/Coding/Instruments": ["Synchronization"],
        "Sources/Crypto": ["Coding", "COpenSSL", "Synchronization"],
        // Signatures and tokens: bytes in, an answer out. No system calls, and OpenSSL only through Crypto's own types.
        "Sources/Crypto/JOSE": ["Coding"],
        "Sources/Sockets": ["Coding", "CLinux", "COpenSSL", "Glibc", "Synchronization"],
        "Sources/HTTP": ["Sockets", "Coding", "HTTPTypes", "Logging", "Synchronization"],
        // The parser: sans-I/O.
        "Sources/HTTP/Wire": ["Coding", "HTTPTypes"],
        "Sources/HTTP/HTTP2": ["CNghttp2", "Sockets", "Coding", "HTTPTypes", "Logging", "Synchronization"],
        // The engine room: it knows no type and no table of the domain.
        "Sources/Storage": ["Crypto", "Coding", "Logging", "FoundationEssentials", "Synchronization"],
        "Sources/Storage/SQLite": ["Crypto", "Coding", "CSQLite", "Logging", "Synchronization"],
        "Sources/Storage/PostgreSQL": ["Crypto", "Coding", "Logging", "Glibc", "Synchronization"],
        "Sources/Storage/Engine": ["Coding", "Dispatch", "Synchronization"],
        // The domain by feature: no I/O but through a transaction of Storage's, or a port that AppleID or Web provides.
        "Sources/Accounts": ["Storage", "Coding", "Crypto", "Logging", "Synchronization"],
        "Sources/AppleID": [
            "Accounts", "Storage", "HTTP", "Crypto", "Coding", "HTTPTypes", "Logging", "Synchronization",
        ],
        "Sources/Web": [
            "Accounts", "Storage", "HTTP", "Public", "Crypto", "Coding", "HTTPTypes", "Logging", "Synchronization",
        ],
        "Sources/Bramley": [
            "Web", "AppleID", "Accounts", "Storage", "HTTP", "Sockets", "Crypto", "Coding",
            "Public", "ArgumentParser", "Configuration", "ServiceLifecycle", "UnixSignals", "HTTPTypes", "Logging",
            "FoundationEssentials", "Synchronization",
        ],
        // Shares no code with the server's protocol or crypto: what checks the server must not share its errors. JSON,
        // forms and base64url are checked by vectors and other implementations of their own (Tests/Unit/CodingTests).
        "Sources/AppleSimulator": [
            "HTTP", "Sockets", "Coding", "HTTPTypes", "ArgumentParser", "UnixSignals", "Logging",
            "FoundationEssentials", "Glibc", "Synchronization",
        ],
        "Sources/AppleSimulator/OpenSSL": ["COpenSSL", "Synchronization"],
    ]

    /// One file that imports a target against the table, and the only types it may take from it.
    struct Exception: Sendable {
        var file: String
        var module: String
        var types: Set<String>
        var reason: String
    }

    static let exceptions = [
        Exception(
            file: "Sources/HTTP/Wire/HostSyntax.swift", module: "Sockets", types: ["IPAddress"],
            reason: "an address literal in Host has one reader; IPAddress is a value and makes no system call")
    ]

    /// Modules whose types stay inside the target that wraps them: never part of its `package` API.
    static let wrapped: Set<String> = [
        "COpenSSL", "CNghttp2", "CLinux", "CSQLite", "Glibc", "Configuration",
    ]

    struct Import: Hashable {
        var path: String
        var module: String
        var access: String
        var attributes: String
    }

    static func imports(in repository: Repository) -> [Import] {
        let pattern =
            /^\s*((?:@\w+(?:\([^)]*\))?\s+)*)(?:(public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)\s+)?(\w+)/
        var found: [Import] = []
        for path in repository.sources {
            for line in (repository.code[path] ?? "").split(whereSeparator: { $0 == "\n" || $0 == ";" }) {
                guard line.contains("import"), let match = line.firstMatch(of: pattern) else { continue }
                found.append(
                    Import(
                        path: path, module: String(match.3), access: String(match.2 ?? "internal"),
                        attributes: String(match.1)))
            }
        }
        return found
    }

    static func againstTheGraph(_ repository: Repository) -> [String] {
        imports(in: repository).filter { entry in
            let folder = allowed.keys.filter { entry.path.hasPrefix($0 + "/") }.max { $0.count < $1.count }
            guard let folder, let modules = allowed[folder] else { return true }
            return !modules.contains(entry.module)
                && !exceptions.contains { $0.file == entry.path && $0.module == entry.module }
        }.map { "\($0.path) imports \($0.module)" }
    }

    static func leaks(_ repository: Repository) -> [String] {
        imports(in: repository).filter { entry in
            entry.attributes.contains("@_exported")
                || (["package", "public"].contains(entry.access) && wrapped.contains(entry.module))
        }.map { "\($0.path) shows \($0.module) to other targets" }
    }

    /// Types of the module an excepted file uses beyond the ones it may, and exceptions nobody needs.
    static func abusedExceptions(_ repository: Repository, _ exceptions: [Exception] = exceptions) -> [String] {
        var problems: [String] = []
        for exception in exceptions {
            guard
                imports(in: repository).contains(where: { $0.path == exception.file && $0.module == exception.module })
            else {
                problems.append("\(exception.file) no longer imports \(exception.module): remove the exception")
                continue
            }
            var declared: Set<String> = []
            for path in repository.sources where path.hasPrefix("Sources/\(exception.module)/") {
                let pattern = /package (?:final )?(?:class|struct|enum|protocol|actor) (\w+)/
                for match in (repository.code[path] ?? "").matches(of: pattern) { declared.insert(String(match.1)) }
            }
            let words = Set((repository.code[exception.file] ?? "").matches(of: /\w+/).map { String($0.0) })
            for type in declared.subtracting(exception.types).intersection(words).sorted() {
                problems.append("\(exception.file) uses \(type) of \(exception.module)")
            }
        }
        return problems
    }

    /// Targets of our own that a target may import, directly or not.
    static func reachable(from folder: String) -> Set<String> {
        var found: Set<String> = []
        var open = [folder]
        while let next = open.popLast() {
            for module in allowed["Sources/" + next] ?? [] where allowed["Sources/" + module] != nil {
                if found.insert(module).inserted { open.append(module) }
            }
        }
        return found
    }
}

@Suite struct ArchitectureImportTests {
    @Test func everyImportFollowsTheGraph() {
        #expect(ImportRules.imports(in: .real).count > 100, "the sources were not found")
        #expect(ImportRules.againstTheGraph(.real) == [])
    }

    @Test func everyTargetHasItsRule() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "Sources").path)
        let swift = folders.filter { folder in Repository.real.sources.contains { $0.hasPrefix("Sources/\(folder)/") } }
        for folder in swift { #expect(ImportRules.allowed["Sources/" + folder] != nil, "\(folder)") }
    }

    @Test("imports run one way: Bramley, then Web and AppleID, then Accounts, then Storage")
    func importsRunOneWay() {
        let adapters: Set = ["Web", "AppleID"]
        for adapter in adapters {
            #expect(ImportRules.reachable(from: adapter).isDisjoint(with: adapters.union(["Bramley"])), "\(adapter)")
        }
        for inner in ["Accounts", "Storage", "Crypto", "Coding", "HTTP", "Sockets"] {
            #expect(ImportRules.reachable(from: inner).isDisjoint(with: adapters.union(["Bramley"])), "\(inner)")
        }
        #expect(ImportRules.reachable(from: "Storage") == ["Crypto", "Coding"])
        #expect(!ImportRules.reachable(from: "Accounts").contains("HTTP"))
        #expect(!ImportRules.reachable(from: "Bramley").contains("AppleSimulator"))
    }

    @Test("Web and AppleID use from Storage only its errors, its patience and the Runtime")
    func storageIsUsedOnlyThroughAccounts() {
        let exceptions = ImportRules.imports(in: .real).filter {
            $0.module == "Storage" && ($0.path.hasPrefix("Sources/Web/") || $0.path.hasPrefix("Sources/AppleID/"))
        }.map {
            ImportRules.Exception(
                file: $0.path, module: "Storage",
                types: ["StoreError", "StorePatience", "AwaitedClient", "Runtime"],
                reason: "failures of the store have one type, and so have clock, randomness and log")
        }
        #expect(!exceptions.isEmpty)
        #expect(ImportRules.abusedExceptions(.real, exceptions) == [])
    }

    @Test func librariesStayInsideTheTargetThatWrapsThem() {
        #expect(ImportRules.leaks(.real) == [])
    }

    @Test func exceptionsAreNeededAndNarrow() {
        #expect(ImportRules.abusedExceptions(.real) == [])
    }

    @Test(
        "A planted import is found",
        arguments: [
            ("Sources/Storage/A.swift", "import Accounts"),
            ("Sources/Storage/A.swift", "package import AppleID"),
            ("Sources/AppleID/A.swift", "import struct Web.Cookies"),
            ("Sources/Accounts/A.swift", "internal import Glibc"),
            ("Sources/Accounts/A.swift", "import HTTP"),
            ("Sources/HTTP/Wire/A.swift", "import Sockets"),
            ("Sources/HTTP/Wire/A.swift", "import Foundation"),
            ("Sources/Crypto/JOSE/A.swift", "import COpenSSL"),
            ("Sources/Web/A.swift", "import CSQLite"),
            ("Sources/Web/A.swift", "let a = 1; import Sockets"),
            ("Sources/HTTP/Server/A.swift", "@preconcurrency import CNghttp2"),
            ("Sources/AppleSimulator/Protocol/A.swift", "import Crypto"),
            ("Sources/Elsewhere/A.swift", "import Coding"),
        ])
    func plantedImportsAreFound(path: String, text: String) {
        #expect(ImportRules.againstTheGraph(Repository(planted: [path: text])).count == 1)
    }

    @Test func commentsAndTextsAreNotImports() {
        let text = "// import Storage\n/* import Storage\n import Storage */ let a = \"\"\"\nimport Storage\n\"\"\"\n"
        #expect(ImportRules.imports(in: Repository(planted: ["Sources/Web/A.swift": text])).isEmpty)
    }

    @Test(
        "A planted leak is found",
        arguments: [
            ("Sources/Storage/A.swift", "package import CSQLite"),
            ("Sources/Crypto/A.swift", "public import COpenSSL"),
            ("Sources/Web/A.swift", "@_exported import HTTP"),
        ])
    func plantedLeaksAreFound(path: String, text: String) {
        #expect(ImportRules.leaks(Repository(planted: [path: text])).count == 1)
    }

    @Test func misusedExceptionIsFound() {
        let exception = ImportRules.exceptions[0]
        let sockets = ["Sources/Sockets/A.swift": "package struct IPAddress {}\npackage final class EventLoop {}"]
        func problems(_ text: String) -> [String] {
            let files = sockets.merging([exception.file: text]) { $1 }
            return ImportRules.abusedExceptions(Repository(planted: files), [exception])
        }
        #expect(problems("import Sockets\nlet a = IPAddress()") == [])
        #expect(problems("import Sockets\nlet a: EventLoop?").count == 1)
        #expect(problems("let a = 1").count == 1)
    }
}
