/// A connection whose peer always has more for us lets the others have their turn.
extension SocketStream {
    /// Bytes that one connection may read before the others have their turn.
    private static var bytesPerTurn: Int { 65_536 }

    /// Whether as much has come in this turn as one may have.
    package var isTurnOver: Bool { turnBytes >= Self.bytesPerTurn }

    /// Lets the other connections have their turn.
    package func endTurn() async {
        beginTurn()
        await Task.yield()
    }

    func beginTurn() {
        turn &+= 1
        turnBytes = 0
    }
}

/// A connection that is kept for later, and whether its peer has said anything meanwhile.
extension SocketStream {
    /// Whether nothing has come since the last read: neither a byte of content nor the end, nor the beginning of a record
    /// whose kind is not known yet. TLS may have sent session tickets, which are no content. For a connection on which
    /// nothing is due; what was there is gone.
    package func isQuiet() -> Bool {
        loop.assertOnLoop()
        guard !isClosed, !sawHangUp else { return false }
        // Epoll may not have been asked since the bytes came.
        isReadable = true
        var byte: [UInt8] = [0]
        do throws(StreamError) {
            guard try tryReading(into: &byte, at: 0) == nil else { return false }
        } catch {
            return false
        }
        return tls.map { $0.isAtRest && !$0.awaitsOutput } ?? true
    }
}
