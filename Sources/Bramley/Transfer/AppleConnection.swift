internal import AppleID
internal import Logging
internal import Sockets

/// Apple, for a command: with its own loop for the duration.
enum AppleConnection {
    static func with<Value: Sendable>(
        _ place: OperatorDatabase, _ input: ConfigurationInput,
        _ body: @escaping @Sendable (AppleIdentityProvider) async throws -> Value
    ) async throws -> Value {
        // Apple's key and the outbound proxy need the whole configuration.
        let configuration = try ConfigurationLoader.load(input).configuration
        let group = try EventLoopGroup(count: 1)
        let provider = try ServerParts.provider(
            configuration, group, place.database, place.clock,
            Logger(label: "bramley", factory: { _ in SwiftLogNoOpLogHandler() }))
        async let running: Void = group.run { loop in await loop.runRoot { $0.close() } }
        let result: Result<Value, any Error>
        do {
            result = .success(try await Interruption.cancelling { try await body(provider) })
        } catch {
            result = .failure(error)
        }
        group.beginDrain()
        group.abort()
        try await running
        return try result.get()
    }
}
