internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

/// What an operator registers, and what then proves itself by a secret: a client, or a service.
protocol Registered: Hashable, Identifiable, Sendable where ID == OpenIDClientID {
    associatedtype Secret: SecretToken
    associatedtype Registry: RegistryOperations where Registry.Item == Self

    typealias Entry = (id: OpenIDClientID, item: @Sendable (_ found: [Self]) -> Self)

    /// `client`: of the names in commands and files, `clients`, `clientID` and `clientSecret`.
    static var noun: String { get }
    /// What its secret is entered in.
    static var holder: String { get }
    /// What its deletion means; its name follows.
    static var loss: String { get }
    static var columns: [CommandColumn<Self>] { get }
    static var places: Places<String> { get }
    static var fields: [Field<Self>] { get }
    static func registry(_ context: OperatorDatabase) -> Registry
    static func all(_ database: Database) async throws(Failure) -> [Self]
    /// The form of its entries in a file.
    static var fileForm: String { get }
    /// Those that a file replaces.
    static var pruned: String { get }
    /// - Parameters:
    ///   - earlier: ids in the file.
    ///   - secret: for one that needs a new one.
    static func entry(
        _ object: JSONObject, after earlier: [OpenIDClientID], secret: Digest256, at now: Timestamp
    ) throws(CommandFailure) -> Entry

    var id: OpenIDClientID { get }
    var name: String { get }
    var secretHash: Digest256? { get }
    var isPruned: Bool { get }
    /// What `show` prints, beginning with the id.
    var lines: [Field<Self>] { get }
    /// In the terms of the file.
    func differences(from old: Self) -> [String]
}

protocol RegistryOperations: Sendable {
    associatedtype Item: Registered
    func rotateSecret(
        of id: OpenIDClientID, keepingOld seconds: Int64, at now: Timestamp
    ) async throws(Failure) -> RegistrationOutcome<Item, Item.Secret>
    func delete(_ id: OpenIDClientID, at now: Timestamp) async throws(Failure) -> Item?
    func apply(
        isDryRun: Bool, at now: Timestamp, _ plan: @escaping @Sendable ([Item]) -> [Item]
    ) async throws(Failure) -> RegistrationList<Item>
}

extension Registered {
    static func find(_ id: OpenIDClientID, in database: Database) async throws -> Self {
        guard let item = try await all(database).first(where: { $0.id == id }) else { throw unknown(id) }
        return item
    }

    private static func unknown(_ id: OpenIDClientID) -> CommandFailure { CommandFailure("There is no \(noun) \(id).") }

    /// - Parameter isChange: whether an option must have changed something.
    static func show(
        _ outcome: RegistrationOutcome<Self, Secret>, of id: OpenIDClientID, isChange: Bool = false,
        _ options: CommandOptions
    ) throws {
        switch outcome {
        case .saved(let item, _, let before) where isChange && item == before:
            throw CommandFailure.usage("Nothing to change; pass an option.")
        case .saved(let item, let secret, _):
            let text =
                secret.map { "\(noun) ID:     \(item.id)\n\(noun) secret: \($0.reveal())" } ?? "\(noun) ID: \(item.id)"
            try options.show(text, item, fields.with("\(noun)Secret", secret))
            if secret != nil {
                CommandOutput.remark("Save the secret now. It is not shown again, and only its hash is stored.")
            }
        case .unknown: throw unknown(id)
        case .taken:
            throw CommandFailure("There already is a \(noun) \(id). Change it with bramley \(noun)s update.")
        case .withoutSecret: throw CommandFailure("\(id) is a public client and has no secret.")
        case .invalid(let problems): throw refusal(of: id, problems)
        }
    }

    static func refusal(of id: OpenIDClientID, _ problems: [ClientProblem]) -> CommandFailure {
        .usage("\(id): " + problems.map { LogEscaping.escaped($0.description) }.joined(separator: "; ") + ".")
    }
}
