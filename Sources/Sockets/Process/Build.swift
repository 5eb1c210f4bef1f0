internal import CLinux

/// The sources a program was built from, and its Swift version.
package enum Build {
    package static let version = "0.1.0"

    /// The commit in hexadecimal, with `-modified` when files had been changed; "unknown" when the build did not set
    /// it.
    package static let commit =
        // Invariant: a NUL-terminated text of the program itself.
        unsafe String(cString: bramley_source_commit())

    /// The version of the Swift library it is linked with, such as `6.3.0`.
    package static var swift: String { "\(_SwiftStdlibVersion.current)" }

    /// What `--version` prints: `bramley 0.1.0 (commit 5cf395a…, Swift 6.3.0)`.
    package static func description(of program: String) -> String {
        "\(program) \(version) (commit \(commit), Swift \(swift))"
    }
}
