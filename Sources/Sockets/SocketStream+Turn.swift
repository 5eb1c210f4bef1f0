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
