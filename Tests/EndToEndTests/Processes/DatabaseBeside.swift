import GRDB

extension DatabaseQueue {
    /// A connection beside a running server's. Both write, so each may find the file locked for a while.
    static func beside(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(30)
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
