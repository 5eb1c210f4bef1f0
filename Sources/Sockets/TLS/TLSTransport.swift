internal import COpenSSL
internal import Glibc

/// OpenSSL's access to the socket: a BIO that goes through the stream, so that epoll's reports and short reads count
/// for TLS as for plaintext. A record costs one recv(2), without a second one that returns EAGAIN.
///
/// Invariant of every `unsafe` in here: a BIO's data is its `TLSSession`, which frees the BIO before it is destroyed;
/// buffers and their lengths come from OpenSSL and are not kept.
enum TLSTransport {
    /// A method for `BIO_new`; nil without memory.
    static func makeMethod() -> OpaquePointer? {
        guard let method = unsafe BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream") else { return nil }
        unsafe BIO_meth_set_read(method, read)
        unsafe BIO_meth_set_write(method, write)
        unsafe BIO_meth_set_ctrl(method, control)
        return unsafe method
    }

    static func makeBIO(_ method: OpaquePointer, for session: TLSSession) -> OpaquePointer? {
        guard let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    private static func session(_ bio: OpaquePointer?) -> TLSSession? {
        guard let data = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
    }

    private static let retryFlags = BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY

    private static let read: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = {
        bio, bytes, count in
        guard let session = unsafe session(bio), let bytes = unsafe bytes, count > 0 else { return -1 }
        unsafe BIO_clear_flags(bio, retryFlags)
        switch unsafe session.receive(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))) {
        case .moved(let count): return Int32(count)
        case .wouldBlock:
            unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            return -1
        case .failed: return -1
        }
    }

    private static let write: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
        bio, bytes, count in
        guard let session = unsafe session(bio), let bytes = unsafe bytes, count > 0 else { return -1 }
        unsafe BIO_clear_flags(bio, retryFlags)
        switch unsafe session.send(UnsafeRawBufferPointer(start: bytes, count: Int(count))) {
        case .moved(let count): return Int32(count)
        case .wouldBlock:
            unsafe BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            return -1
        case .failed: return -1
        }
    }

    private static let control: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = {
        bio, command, _, _ in
        switch command {
        case BIO_CTRL_FLUSH: return 1
        case BIO_CTRL_EOF: return unsafe session(bio)?.sawEnd == true ? 1 : 0
        default: return 0
        }
    }
}
