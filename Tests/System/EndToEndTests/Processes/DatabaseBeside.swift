import Strangers

extension Stranger {
    /// A connection beside a running server's. Both write, so each may find the file locked for a while.
    static func beside(_ path: String) throws -> Stranger {
        try Stranger(path, patience: 30_000)
    }
}
