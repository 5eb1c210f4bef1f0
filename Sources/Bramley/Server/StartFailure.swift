/// Why `serve` does not start: one clear line for the operator, exit code 1.
package struct StartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
