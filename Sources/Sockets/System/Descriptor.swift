internal import CLinux
internal import Glibc

/// An open file descriptor with exactly one owner, closed when the owner is destroyed.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes ownership of `number`, which must be open and owned by nobody else.
    package init(owning number: Int32) { self.number = number }

    deinit {
        // close(2) is not retried on EINTR: on Linux the descriptor is gone either way.
        _ = Glibc.close(number)
    }

    /// Gives up ownership: the caller closes `number`.
    package consuming func release() -> Int32 {
        let number = self.number
        discard self
        return number
    }
}
