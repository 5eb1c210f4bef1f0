internal import CNghttp2

/// The callbacks of nghttp2: each records what happened in the session and returns.
///
/// Invariant of every `session(of:)`: the user data is the `HTTP2Session`, which outlives nghttp2's.
enum HTTP2Callbacks {
    static func set(on callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let frame = unsafe frame else { return 0 }
            let isRequest = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            unsafe HTTP2Callbacks.session(of: user)?.assembler.begin(trailers: !isRequest)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, _, name, nameLength, value, valueLength, _, user in
            let name = unsafe UnsafeBufferPointer(start: name, count: nameLength)
            let value = unsafe UnsafeBufferPointer(start: value, count: valueLength)
            unsafe HTTP2Callbacks.session(of: user)?.assembler.add(name: name.span, value: value.span)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame = unsafe frame, let session = unsafe HTTP2Callbacks.session(of: user) else { return 0 }
            unsafe HTTP2Callbacks.received(frame, session)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, count, user in
            guard let session = unsafe HTTP2Callbacks.session(of: user), let data = unsafe data,
                let segment = unsafe session.segment
            else { return 0 }
            // nghttp2 does not copy content: it is in the bytes fed.
            let start = unsafe session.segmentOffset + (data - segment)
            session.events.append(.content(stream: stream, range: start..<start + count))
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, _, user in
            guard let frame = unsafe frame, let session = unsafe HTTP2Callbacks.session(of: user) else { return 0 }
            session.faults += 1
            session.recordIgnored(unsafe frame.pointee.hd.stream_id)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
            unsafe HTTP2Callbacks.session(of: user)?.recordClosed(stream, code: code)
            return 0
        }
        unsafe setSending(on: callbacks)
    }

    private static func setSending(on callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { nghttp2, frame, user in
            guard let frame = unsafe frame, let session = unsafe HTTP2Callbacks.session(of: user) else { return 0 }
            let header = unsafe frame.pointee.hd
            switch header.type {
            case FrameHeader.Kind.resetStream: session.recordIgnored(header.stream_id)
            case FrameHeader.Kind.data, FrameHeader.Kind.headers:
                // For what a peer receives, it may send window updates.
                if header.type == FrameHeader.Kind.data { session.gains += 2 }
                if header.flags & FrameHeader.endStream != 0,
                    unsafe nghttp2_session_get_stream_remote_close(nghttp2, header.stream_id) == 0
                {
                    session.events.append(.answeredEarly(stream: header.stream_id))
                }
            default: break
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, error, user in
            guard let frame = unsafe frame else { return 0 }
            let header = unsafe frame.pointee.hd
            // A response too large to send. If its stream is gone, nothing is lost.
            let hasGone = [NGHTTP2_ERR_STREAM_CLOSED, NGHTTP2_ERR_STREAM_CLOSING].contains { $0.rawValue == error }
            if header.type == FrameHeader.Kind.headers, !hasGone {
                unsafe HTTP2Callbacks.session(of: user)?.unsent.append(header.stream_id)
            }
            return 0
        }
    }

    private static func received(_ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2Session) {
        let header = unsafe frame.pointee.hd
        let ends = header.flags & FrameHeader.endStream != 0
        switch header.type {
        case FrameHeader.Kind.headers:
            let isRequest = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            let id = header.stream_id
            session.events.append(isRequest ? .request(stream: id, ends: ends) : .trailers(stream: id, ends: ends))
        case FrameHeader.Kind.data where ends: session.events.append(.ended(stream: header.stream_id))
        case FrameHeader.Kind.ping where header.flags & FrameHeader.acknowledge != 0:
            session.events.append(.pingAcknowledged)
        default: break
        }
    }

    /// A source of DATA frames. The session keeps `content` until the stream has closed.
    static func provider(for content: OutgoingContent) -> nghttp2_data_provider {
        unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: Unmanaged.passUnretained(content).toOpaque()),
            read_callback: { _, stream, buffer, length, flags, source, user in
                guard let buffer = unsafe buffer, let flags = unsafe flags,
                    let pointer = unsafe source?.pointee.ptr
                else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
                let content = unsafe Unmanaged<OutgoingContent>.fromOpaque(pointer).takeUnretainedValue()
                // Invariant: nghttp2 provides `length` bytes of room.
                let count = content.read(upTo: length) { bytes in
                    unsafe bytes.withUnsafeBufferPointer {
                        if let base = $0.baseAddress { unsafe buffer.update(from: base, count: $0.count) }
                    }
                }
                if content.isDone {
                    unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
                } else if content.pending == 0 {
                    unsafe HTTP2Callbacks.session(of: user)?.events.append(.drained(stream: stream))
                    if count == 0 { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
                }
                return count
            })
    }

    private static func session(of user: UnsafeMutableRawPointer?) -> HTTP2Session? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<HTTP2Session>.fromOpaque(user).takeUnretainedValue()
    }
}
