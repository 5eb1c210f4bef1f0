package import Coding

/// The results of an import's lines. Blank lines do not count.
package struct ImportReport: Hashable, Sendable {
    package var imported = 0
    package var updated = 0
    package var unchanged = 0
    package var refused = 0
    /// People of another product who have no Apple identity.
    package var withoutApple = 0
    /// Further Apple identities of people who have one already.
    package var otherIdentities = 0
    /// Lines that named somebody, refused or not.
    package var recognised = 0
    /// False when interrupted.
    package var isComplete = true
    package var isRehearsal = false

    package init() {}

    package var lines: Int { imported + updated + unchanged + refused + withoutApple }

    package var text: String {
        var text =
            "\(lines) lines: \(imported) imported, \(updated) updated, \(unchanged) unchanged, \(refused) refused."
        if withoutApple > 0 { text += " \(withoutApple) have no Apple identity." }
        if otherIdentities > 0 { text += " \(otherIdentities) further Apple identities were not imported." }
        if isRehearsal { text += " Nothing was written." }
        return text
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("lines", Int64(lines))
        writer.member("imported", Int64(imported))
        writer.member("updated", Int64(updated))
        writer.member("unchanged", Int64(unchanged))
        writer.member("refused", Int64(refused))
        writer.member("withoutApple", Int64(withoutApple))
        writer.member("dryRun", isRehearsal)
        writer.member("complete", isComplete)
        writer.endObject()
    }
}
