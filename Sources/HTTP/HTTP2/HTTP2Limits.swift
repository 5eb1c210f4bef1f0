internal import Sockets

/// Limits of one HTTP/2 connection. Those of an HTTP/1.1 request (`WireLimits`) apply as well.
struct HTTP2Limits: Hashable, Sendable {
    /// Requests in progress at once, including streams that the client has reset in the meantime; one more is refused.
    var concurrentStreams = 128
    /// Of these, requests whose content is incomplete; one more is refused. A client sends its contents one after
    /// another, and retries what is refused. For a trusted proxy, as many as there may be requests.
    var awaitedContents = 16
    /// `SETTINGS_INITIAL_WINDOW_SIZE`: bytes of content a client may send before it hears from us.
    var streamWindow: Int
    /// Bytes of content of all requests that one connection holds together; credit returns when they are answered.
    var connectionWindow: Int
    /// `SETTINGS_MAX_HEADER_LIST_SIZE`, as advice: the enforced size is that of the head in HTTP/1.1.
    var headerList: Int
    var continuations = 8
    /// Entries in one SETTINGS frame.
    var settings = 32
    /// Bytes of serialised frames that wait for the socket.
    var output = 16_384
    /// Frames that wait behind those bytes: answers, acknowledgements, resets.
    var queuedFrames = 256
    /// Bytes of a streamed response that wait for the peer's windows.
    var pendingContent = 65_536

    init(_ wire: WireLimits) {
        // One byte more than allowed: a client that sends it gets 413 instead of waiting for a window for ever.
        streamWindow = max(65_535, min(wire.body + 1, 1 << 20))
        connectionWindow = min(max(1 << 20, 2 * wire.body), 1 << 30)
        headerList = wire.requestLine + wire.headerBlock
    }
}
