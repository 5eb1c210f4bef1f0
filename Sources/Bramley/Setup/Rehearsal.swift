internal import Accounts
internal import AppleID
internal import Coding
internal import Crypto
internal import FoundationEssentials
internal import Sockets
internal import Storage
internal import Web

/// `bramley init --rehearse`: everything as in production, but with the simulated Apple and invented identifiers.
struct Rehearsal {
    static let simulator = "http://127.0.0.1:\(port)"
    /// Where the simulator listens, unless its address says so.
    private static let port = 9700
    private static let keyID = "REHEARSAL1"
    private static let keyFile = "AuthKey_\(keyID).p8"
    /// Read by the package's units.
    private static let optionsFile = "rehearsal.env"
    /// The members of `apple` that belong to one Apple.
    private static let identity = [
        "servicesID", "bundleIDs", "teamID", "keyID", "privateKey", "privateKeyFile", "nextKeyID", "nextPrivateKey",
        "nextPrivateKeyFile", "endpoint", "issuers", "scriptURL",
    ]

    private var simulator = Self.simulator

    init() {}

    /// - Parameter simulator: without or with a slash at its end.
    init(simulator: String) { self.simulator = ConfigurationBuilder.withoutSlash(simulator) }

    func settings(_ target: ConfigurationOutput) -> [(name: String, text: String)] {
        [
            ("apple.servicesID", "com.example.web"), ("apple.bundleIDs", "com.example.app"),
            ("apple.teamID", "TEAM123456"), ("apple.keyID", Self.keyID),
            ("apple.privateKeyFile", target.beside(Self.keyFile)), ("apple.endpoint", simulator),
            ("apple.scriptURL", simulator + "/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js"),
        ]
    }

    /// The key that Apple would let you download; one that exists stays.
    func makeKey(_ target: ConfigurationOutput) throws(CommandFailure) {
        let path = target.beside(Self.keyFile)
        guard !GuardedFile.exists(path) else { return }
        do {
            var der: [UInt8] = []
            try P256PrivateKey.generate().derRepresentation().append(to: &der)
            let pem = PastedText.pem("-----BEGIN EC PRIVATE KEY-----\(Base64.encode(der))-----END EC PRIVATE KEY-----")
            try Files.create(path, mode: 0o600, like: target.model, bytes: Array(pem.utf8))
        } catch {
            throw CommandFailure("\(path.quoted) cannot be written: \(error).")
        }
    }

    static func writeOptions(of configuration: Configuration, _ target: ConfigurationOutput) throws(CommandFailure) {
        let text = """
            # Written by bramley init --rehearse, read by bramley.service and apple-simulator.service.
            SERVE_OPTIONS=\(configuration.web.apple.isSimulatedByOverride ? "--allow-simulated-apple" : "")
            SIMULATOR_OPTIONS=\(simulatorOptions(configuration))

            """
        let path = target.beside(optionsFile)
        try translating(try Files.replace(path, mode: 0o644, bytes: Array(text.utf8))) { (error: SystemError) in
            CommandFailure("\(path.quoted) cannot be written: \(error).")
        }
    }

    /// It holds a flag, which must not outlive the rehearsal.
    static func removeOptions(_ target: ConfigurationOutput) throws(CommandFailure) {
        let path = target.beside(optionsFile)
        try translating(try Files.remove(path)) { (error: SystemError) in
            CommandFailure("\(path.quoted) cannot be removed: \(error).")
        }
    }

    /// The simulator that accepts this configuration; its key comes after them.
    static func simulatorOptions(_ configuration: Configuration) -> String {
        let apple = configuration.apple
        let apps = apple.bundleIDs.map { " --bundle-id \($0)" }.joined()
        return "--port \(localPort(apple.endpoint)) --server-url \(configuration.web.publicURL.absolute) --services-id "
            + "\(apple.servicesID)\(apps) --team-id \(apple.teamID) --key-id \(apple.key.id)"
    }

    private static func localPort(_ endpoint: String) -> Int {
        guard let address = try? WebAddress.parse(endpoint), address.isLocal else { return port }
        return address.port ?? port
    }

    /// How browsers on other machines, and notifications, reach the server.
    static func notes(_ configuration: Configuration) -> [String] {
        let (endpoint, site) = (configuration.apple.endpoint, configuration.web.publicURL)
        let port = localPort(endpoint)
        guard !site.isForTests, let address = try? WebAddress.parse(endpoint) else { return [] }
        let way =
            address.isLocal
            ? [
                "A browser on another machine reaches the simulator through a tunnel:",
                "  ssh -L \(port):127.0.0.1:\(port) \(site.host)",
            ]
            : [
                "Your proxy must pass \(endpoint) on to the simulator, for your own addresses and this server's only: "
                    + "the simulator signs in anyone as anyone.",
                "  nginx: location / {",
                "             allow YOUR-ADDRESS; allow SERVER-ADDRESS; deny all;",
                "             proxy_pass http://127.0.0.1:\(port);",
                "         }",
                "  Caddy: @mine remote_ip YOUR-ADDRESS SERVER-ADDRESS",
                "         reverse_proxy @mine 127.0.0.1:\(port)",
            ]
        return [""] + way + [
            "",
            "If publicURL has a trial certificate, start the simulator with --trust FILE: its notifications need it.",
            "To end the rehearsal: bramley init --leave-rehearsal",
        ]
    }
}

extension InitCommand {
    /// Deletes what the rehearsal left, the configuration last: until then, this can be run again.
    func leave() async throws -> [String] {
        let (here, system) = (ConfigurationLoader.defaultPath, ConfigurationLoader.systemPath)
        let path = output ?? (GuardedFile.exists(here) ? here : system)
        return try await Rehearsal.leave(ConfigurationOutput(path: path, replacesFiles: true), confirmation)
    }
}

extension Rehearsal {
    fileprivate static func leave(
        _ target: ConfigurationOutput, _ confirmation: ConfirmationOptions
    ) async throws -> [String] {
        let path = target.path
        let configuration = try ConfigurationLoader.loadDatabase(
            ConfigurationInput(
                path: path, environment: ProcessInfo.processInfo.environment, simulatedApple: .reported))
        guard configuration.options.store.origin == .simulated else {
            throw CommandFailure("\(path.quoted) names the real Apple, so it is not a rehearsal. Nothing was done.")
        }
        let directory = configuration.storage.directory
        var (files, people) = ([String](), "")
        var locks: [RestoreLock] = []
        if configuration.storage.postgres == nil, Store.exists(in: directory) {
            locks = [try RestoreLock.ofServer(directory), try RestoreLock.exclusive(directory)]
            let contents = try await examine(directory)
            people = "\(Quantity.count(contents.users, "user")), \(Quantity.count(contents.sessions, "session"))"
            let database = Store.path(in: directory)
            let paths = try paths(in: directory)
            // Until the database is gone, this can be run again, and the locks keep others out.
            files = paths.filter { $0.hasPrefix(database + ".") || $0.hasSuffix("/sealing.key") }
            files += [database] + paths.filter { $0.hasSuffix(".lock") }
        }
        files = [optionsFile, keyFile].map(target.beside).filter(GuardedFile.exists) + files
        let holds = people.isEmpty ? "" : ", with \(people), API keys, clients and everything else in the database"
        try await confirmation.confirm(
            "This deletes \(files.joined(separator: ", "))\(holds), and the simulator's settings in \(path).")
        for file in files { try Files.remove(file) }
        try forget(target)
        withExtendedLifetime(locks) {}
        var lines = ["The rehearsal is over. Stop the simulator, and run bramley init: it keeps the rest of \(path)."]
        if configuration.storage.postgres != nil {
            lines.append(
                "In PostgreSQL, nothing was checked or deleted. If the rehearsal's people are there (SELECT "
                    + "convert_from(value, 'UTF8') FROM bramley.meta WHERE key = 'origin' says simulated), DROP SCHEMA "
                    + "bramley CASCADE deletes them.")
        }
        return lines
    }

    /// The database, and the copies beside it that upgrades and restores kept.
    /// - Throws: when one is the real Apple's.
    private static func examine(_ directory: String) async throws -> DatabaseExamination {
        func examination(_ path: String) async throws -> DatabaseExamination {
            try await CheckedCopy.examine(path, origin: .simulated, clock: SystemClock(), orSay: "Nothing was done.")
        }
        let database = Store.path(in: directory)
        let contents = try await examination(database)
        for path in try paths(in: directory) where path.hasPrefix(database + ".") {
            guard !(StagedCopy.companions(of: "") + [".unfinished"]).contains(where: path.hasSuffix) else { continue }
            _ = try await examination(path)
        }
        try DatabaseCopy.settle(database)
        return contents
    }

    private static func paths(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted().map { directory + "/" + $0 }
    }

    private static func forget(_ target: ConfigurationOutput) throws {
        let file = try translating(
            try GuardedFile.read(target.path, maximumBytes: GivenValues.maximumFileBytes)
        ) { (error: InputFlaw) in CommandFailure("\(target.path.quoted) \(error.fault)") }
        var document = try JSONReader.parse(file.bytes).objectValue ?? JSONObject()
        var apple = document["apple"]?.objectValue ?? JSONObject()
        for name in identity { apple[name] = nil }
        document["apple"] = apple.isEmpty ? nil : .object(apple)
        try target.write(document)
    }
}
