/// The number of single-byte edits between two names, for "did you mean".
package enum EditDistance {
    /// Levenshtein's distance. Names longer than 128 bytes are not compared.
    package static func between(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard left.count <= 128, right.count <= 128 else { return .max }
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
