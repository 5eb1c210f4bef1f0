// A line at a time: what a script says comes in on standard input, what the system or a person would see goes out.
import Foundation

/// Past the standard library's buffers: their locks are held while a line is read.
public func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

@MainActor public func listen(_ hear: @escaping @MainActor @Sendable (String) -> Void) -> Never {
    Thread.detachNewThread {
        while let line = readLine() { DispatchQueue.main.async { MainActor.assumeIsolated { hear(line) } } }
        exit(0)
    }
    while true { RunLoop.main.run() }
}

/// What Apple's sheet gives, as the simulator has it.
public struct Given: Decodable {
    public struct Name: Decodable {
        public var givenName: String?
        public var familyName: String?
    }
    public var identityToken: String
    public var authorizationCode: String
    public var fullName: Name?

    public init?(_ text: String) {
        guard let given = try? JSONDecoder().decode(Given.self, from: Data(text.utf8)) else { return nil }
        self = given
    }

    public var name: PersonNameComponents? {
        fullName.map {
            var name = PersonNameComponents()
            (name.givenName, name.familyName) = ($0.givenName, $0.familyName)
            return name
        }
    }
}
