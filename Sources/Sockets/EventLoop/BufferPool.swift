/// Input and output buffers that wait for their next connection: one pool per loop, used only on its thread.
///
/// Proof for `@unchecked Sendable`: the pool is a member of one `EventLoop` and only that loop's thread calls it.
package final class BufferPool: @unchecked Sendable {
    /// The size of a new buffer, in bytes.
    package static let size = 8192
    private static let kept = 64
    /// The largest output buffer that is kept after a crowd of connections.
    private static let largestOutput = 16_384 + size
    private var buffers: [[UInt8]] = []
    private var outputs: [[UInt8]] = []
    private var whenEmptied: [() -> Void] = []

    package init() {}

    package func acquire() -> [UInt8] { buffers.popLast() ?? [UInt8](repeating: 0, count: Self.size) }

    /// An empty array with room for a usual response.
    package func acquireOutput() -> [UInt8] {
        if let output = outputs.popLast() { return output }
        var output: [UInt8] = []
        output.reserveCapacity(1024)
        return output
    }

    package func releaseOutput(_ output: consuming [UInt8]) {
        guard outputs.count < Self.kept, output.capacity <= Self.largestOutput else { return }
        output.removeAll(keepingCapacity: true)
        outputs.append(output)
    }

    /// Buffers that grew beyond the usual size are freed.
    package func release(_ buffer: consuming [UInt8]) {
        guard buffers.count < Self.kept, buffer.count == Self.size else { return }
        buffers.append(buffer)
    }

    /// Frees all waiting buffers: a crowd has left, and few connections follow.
    package func removeAll() {
        buffers = []
        outputs = []
        for action in whenEmptied { action() }
    }

    /// Runs `action` with every `removeAll`, to free other storage that waits for its next connection.
    package func whenEmptied(_ action: @escaping () -> Void) { whenEmptied.append(action) }
}
