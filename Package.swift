// swift-tools-version: 6.2
import PackageDescription

// The flags every target of ours is built with, from the start: to enable one later means touching every file.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

// A debug build is optimised too, and keeps its assertions: tests spend most of their time in what it makes.
let ours: [SwiftSetting] =
    house + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

// Swift's own link line exports each symbol of a program. Nothing looks them up: without, what is unused is dropped, and
// 1.4 MiB less are resident (docs/contribute/performance.md).
let programs: [LinkerSetting] = [
    .unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux], configuration: .release))
]

/// - Parameter data: files and folders beside the sources that are read by path.
func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil, data: [String] = []
) -> Target {
    .target(name: name, dependencies: dependencies, path: path, exclude: data, swiftSettings: ours)
}

/// - Parameters:
///   - room: the folder of `Tests` where the target is.
///   - data: as a library's.
func tests(_ name: String, _ dependencies: [Target.Dependency], room: String = "Unit", data: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(room)/\(name)", exclude: data, swiftSettings: house)
}

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

/// `make build` says which commit it builds (scripts/commit.sh). Without it,
/// or with anything else, the programs call it unknown.
let sourceCommit: [CSetting] =
    Context.environment["SOURCE_COMMIT"].flatMap { commit in
        // Without Regex: Xcode compiles this file for older systems.
        let digits = commit.hasSuffix("-modified") ? commit.dropLast("-modified".count) : commit[...]
        let isCommit = (7...64).contains(digits.count) && digits.allSatisfy("0123456789abcdef".contains)
        return isCommit ? [.define("SOURCE_COMMIT", to: commit)] : nil
    } ?? []

/// What reads untrusted bytes.
let fuzzed: [Target.Dependency] = ["Web", "AppleID", "Accounts", "HTTP", "Sockets", "Crypto", "Coding", httpTypes]

let package = Package(
    name: "bramley",
    products: [
        .executable(name: "bramley", targets: ["Bramley"]),
        .executable(name: "apple-simulator", targets: ["AppleSimulator"]),
        .executable(name: "http-echo", targets: ["HTTPEcho"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // Without its reader of JSON, which is not used and brings all of Foundation.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "CLinux", cSettings: sourceCommit),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),

        library("Coding"),
        library("Crypto", ["Coding", "COpenSSL"]),
        library("Sockets", ["Coding", "CLinux", "COpenSSL"]),
        library("HTTP", ["Sockets", "Coding", "CNghttp2", httpTypes, logging]),
        library("Storage", ["Coding", "Crypto", "CSQLite", logging]),
        library("Accounts", ["Storage", "Coding", "Crypto", logging]),
        library("AppleID", ["Accounts", "Storage", "Coding", "Crypto", "HTTP", httpTypes, logging]),
        // Not optimised: that takes a minute over what is one long list of bytes.
        .target(
            name: "Public", path: "Public",
            resources: [.embedInCode("assets"), .embedInCode("templates"), .embedInCode("strings")],
            swiftSettings: house),
        library(
            "Web",
            [
                "Accounts", "Storage", "Coding", "Crypto", "HTTP", "Public", httpTypes, logging,
            ]),
        .executableTarget(
            name: "Bramley",
            dependencies: [
                "Web", "AppleID", "Accounts", "Storage", "HTTP", "Sockets", "Crypto", "Coding", "Public", arguments,
                lifecycle, signals, httpTypes, logging,
            ],
            swiftSettings: ours, linkerSettings: programs),
        .executableTarget(
            name: "AppleSimulator",
            dependencies: ["HTTP", "Sockets", "Coding", "COpenSSL", httpTypes, arguments, signals, logging],
            resources: [
                .embedInCode("Assets/appleid.auth.js"), .embedInCode("Assets/control.html"),
                .embedInCode("Assets/control.js"), .embedInCode("Assets/deliver.js"),
                .embedInCode("Assets/simulator.css"),
            ],
            swiftSettings: ours, linkerSettings: programs),

        // http-echo: the HTTP server with nothing behind it (docs/contribute/testing.md).
        .executableTarget(
            name: "HTTPEcho",
            dependencies: ["HTTP", "Sockets", "Coding", httpTypes, arguments, signals, logging],
            path: "Tests/Support/HTTPEcho", swiftSettings: ours),
        // The real database as tests use it, for more than one target.
        library(
            "Stores", ["LogRecording", "TemporaryFolders", "Accounts", "Storage", "Crypto", "Coding"],
            path: "Tests/Support/Stores"),
        // Another program at the database file, for the same.
        library("Strangers", ["CSQLite"], path: "Tests/Support/Strangers"),
        // What was logged, for the same.
        library("LogRecording", [logging], path: "Tests/Support/LogRecording"),
        // Holds what tests let go on.
        library("Gates", [], path: "Tests/Support/Gates"),
        // Folders that go with a test.
        library("TemporaryFolders", [], path: "Tests/Support/TemporaryFolders"),
        // Choices that are the same in every run.
        library("Randomness", [], path: "Tests/Support/Randomness"),
        // Runs tests on event loops.
        library("Loops", ["Sockets"], path: "Tests/Support/Loops"),
        // Other programs, started by the tests of more than one target.
        .target(name: "CSpawn", path: "Tests/Support/CSpawn"),
        library("ChildProcesses", ["CSpawn"], path: "Tests/Support/ChildProcesses"),
        tests("ChildProcessesTests", ["ChildProcesses"]),
        // Another implementation of JOSE, in Python.
        library(
            "IndependentSigning", ["ChildProcesses"], path: "Tests/Support/IndependentSigning",
            data: ["independent-signer.py"]),
        // Certificates and keys, made once a run by OpenSSL's command line.
        library("Certificates", ["ChildProcesses", "TemporaryFolders"], path: "Tests/Support/Certificates"),
        tests("CodingTests", ["Coding"], data: ["Vectors"]),
        tests(
            "CryptoTests", ["Crypto", "Coding", "Certificates", "ChildProcesses", "TemporaryFolders"],
            data: ["Vectors", "independent.py"]),
        tests("SocketsTests", ["Sockets", "Loops", "Certificates", "TemporaryFolders"]),
        tests(
            "HTTPTests",
            [
                "HTTP", "Sockets", "Loops", "Gates", "Coding", "COpenSSL", "Certificates", "ChildProcesses",
                "LogRecording", httpTypes, logging,
            ]),
        tests(
            "AccountsTests",
            ["Accounts", "Storage", "Stores", "Gates", "LogRecording", "Randomness", "Crypto", "Coding"]),
        tests(
            "AppleIDTests",
            [
                "AppleID", "IndependentSigning", "LogRecording", "Accounts", "Storage", "HTTP", "Crypto", "Coding",
                httpTypes, logging,
            ]),
        tests(
            "StorageTests",
            [
                "Storage", "Stores", "Strangers", "Gates", "ChildProcesses", "LogRecording", "Randomness",
                "TemporaryFolders", "Accounts", "Crypto", "Coding", "CSQLite", logging,
            ]),
        tests(
            "WebTests",
            [
                "Web", "Storage", "Stores", "LogRecording", "Accounts", "HTTP", "Sockets", "Crypto", "Coding", "Public",
                httpTypes, logging,
            ]),
        tests(
            "BramleyTests",
            [
                "Bramley", "AppleID", "Certificates", "ChildProcesses", "LogRecording", "Loops", "TemporaryFolders",
                "Web", "Storage", "HTTP", "Accounts", "Sockets", "Crypto", "Coding", arguments, httpTypes, logging,
            ], data: ["Broken"]),
        tests(
            "AppleSimulatorTests",
            ["AppleSimulator", "ChildProcesses", "Loops", "HTTP", "Sockets", "Coding", httpTypes],
            data: ["Vectors"]
        ),
        tests(
            "ConformanceTests",
            ["HTTPEcho", "HTTP", "Sockets", "Loops", "LogRecording", "Randomness", "Coding", "Certificates"]),
        tests(
            "EndToEndTests",
            [
                "Bramley", "Strangers", "AppleSimulator", "Certificates", "ChildProcesses", "IndependentSigning",
                "LogRecording", "Loops", "Randomness", "TemporaryFolders", "Web", "Storage", "AppleID", "Accounts",
                "HTTP", "Sockets", "Crypto", "Coding", httpTypes, logging,
            ], room: "System", data: ["assertion-attacks.py"]),
        // What the fuzzer found once, and what it starts from, tried again.
        .testTarget(
            name: "FuzzingTests", dependencies: fuzzed + ["Bramley"], path: "Tests/Load/Fuzzing",
            exclude: ["Dictionaries", "Engine", "Failures", "Seeds", "fuzz.py"], sources: ["Replay", "Targets"],
            swiftSettings: house),
    ]
)

// `make fuzz` alone sets this (docs/contribute/testing.md): then the targets of fuzzing are a program, with libFuzzer's `main` around
// them. Bramley is a library there, its own `main` under another name, since no program is linked into another.
if Context.environment["FUZZING_BUILD"] != nil {
    package.products = []
    package.targets.removeAll { $0.type == .test }
    if let bramley = package.targets.firstIndex(where: { $0.name == "Bramley" }) {
        let program = package.targets[bramley]
        package.targets[bramley] = .target(
            name: "Bramley", dependencies: program.dependencies,
            swiftSettings: house + [
                .unsafeFlags(["-Xfrontend", "-entry-point-function-name", "-Xfrontend", "Bramley_main"])
            ])
    }
    package.targets.append(
        .executableTarget(
            name: "Fuzz", dependencies: fuzzed + ["Bramley"], path: "Tests/Load/Fuzzing",
            exclude: ["Dictionaries", "Failures", "Replay", "Seeds", "fuzz.py"], sources: ["Engine", "Targets"],
            swiftSettings: house + [.unsafeFlags(["-parse-as-library"])]))
}

// On a Mac, this package is the client for apps (docs/examples/ios), which Xcode adds by the repository's address. The
// server is for Linux: Xcode resolves and builds nothing of it.
#if os(macOS)
    package.platforms = [.iOS(.v17), .macOS(.v14)]
    package.products = [.library(name: "BramleyKit", targets: ["BramleyKit"])]
    package.dependencies = []
    package.targets = [.target(name: "BramleyKit", path: "docs/examples/ios/Sources/BramleyKit")]
#endif
