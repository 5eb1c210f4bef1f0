/// A connection whose peer always has more input lets others have their turn.
extension SocketStream {
    /// Bytes that one connection may read before others have their turn.
    private static var bytesPerTurn: Int { 65_536 }
    package var isTurnOver: Bool { turnBytes >= Self.bytesPerTurn }

    package func endTurn() async {
        beginTurn()
        await Task.yield()
    }

    func beginTurn() {
        turn &+= 1
        turnBytes = 0
    }

    /// Whether nothing has arrived since the last read: neither content nor the end, nor the beginning of a record of
    /// unknown type. TLS may have sent session tickets, which are not content. For a connection on which nothing is
    /// due; consumes what arrived.
    package func isQuiet() -> Bool {
        loop.assertOnLoop()
        guard !isClosed, !sawHangUp else { return false }
        // Epoll may not have been polled since the bytes arrived.
        isReadable = true
        var byte: [UInt8] = [0]
        do {
            guard try tryReading(into: &byte, at: 0) == nil else { return false }
        } catch {
            return false
        }
        return tls.map { $0.isAtRest && !$0.awaitsOutput } ?? true
    }
}
