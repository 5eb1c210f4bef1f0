/// Numbers as people read them.
package enum Quantity {
    /// `812 bytes`, `12 KiB`, `3.4 MiB`.
    package static func bytes(_ count: Int) -> String {
        if count < 1024 { return self.count(count, "byte") }
        if count < 1024 * 1024 { return "\(count / 1024) KiB" }
        let (size, unit) = count < 1 << 30 ? (1 << 20, "MiB") : (1 << 30, "GiB")
        return "\(count / size).\(count % size * 10 / size) \(unit)"
    }

    package static func seconds(_ milliseconds: Int) -> String {
        "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }

    /// `1 user`, `1,234 users`
    package static func count(_ count: Int, _ unit: String) -> String {
        var digits = ""
        for (index, digit) in String(count).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3) { digits = "," + digits }
            digits = "\(digit)" + digits
        }
        return "\(digits) \(unit)\(count == 1 ? "" : "s")"
    }
}
