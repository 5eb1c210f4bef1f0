internal import Glibc

/// The users of this machine.
package enum SystemAccount {
    /// Who runs this process, for audit lines: the name of the real user, followed by who became that user through
    /// sudo. `ann`, `root (sudo: ann)`; `uid 10001` for a user without a name.
    /// - Parameter sudoUser: `SUDO_USER`. That user could set it to anything, so it is shown as sudo's claim, next to
    ///   the user the kernel knows.
    package static func current(sudoUser: String?) -> String {
        let id = getuid()
        let user = name(of: id) ?? "uid \(id)"
        guard let sudoUser, isName(sudoUser), sudoUser != user else { return user }
        return "\(user) (sudo: \(sudoUser))"
    }

    /// Whether it can be part of a line: 1 to 64 visible ASCII characters.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The name in the user database; nil for an id without a plain name.
    package static func name(of id: UInt32) -> String? {
        var buffer = [CChar](repeating: 0, count: 1_024)
        while true {
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            // Invariant: getpwuid_r writes at most `count` bytes, and `found` points into `entry` and `buffer`.
            let code = unsafe getpwuid_r(id, &entry, &buffer, buffer.count, &found)
            if code == ERANGE, buffer.count < 1 << 20 {
                buffer = [CChar](repeating: 0, count: buffer.count * 4)
                continue
            }
            guard code == 0, unsafe found != nil, let bytes = unsafe entry.pw_name else { return nil }
            let name = unsafe String(cString: bytes)
            return isName(name) ? name : nil
        }
    }
}
