/// What the HTTP/2 connections of one loop share, because each uses it only while it reads. Nothing outlives a turn of
/// the loop except spare storage, which `removeAll` frees.
///
/// Not Sendable: a member of its `HTTPLoop`.
final class HTTP2Workspace {
    private static let kept = 64

    var parser: RequestParser
    /// The fields of the current response.
    var list = HeaderList()
    /// What an `ImmediateResponder` wrote.
    var scratch: [UInt8] = []
    private(set) var storages: [RequestAssembler.Storage] = []

    init(limits: WireLimits) {
        parser = RequestParser(limits: limits)
    }

    func acquire() -> RequestAssembler.Storage { storages.popLast() ?? RequestAssembler.Storage() }

    /// Not during a connection's turn.
    func removeAll() {
        storages = []
        scratch = []
        list.releaseStorage()
    }

    func release(_ storage: consuming RequestAssembler.Storage) {
        if storages.count < Self.kept { storages.append(storage) }
    }
}
