package import Accounts
package import Coding
import Storage

/// The result of `bramley backup`.
package struct BackupReport: Hashable, Sendable {
    package var file: String
    package var contents: DatabaseExamination
    /// The time of the snapshot.
    package var takenAt: Timestamp
    package var milliseconds: Int64

    /// For a person.
    package var text: String {
        """
        \(file): \(Quantity.bytes(contents.file.bytes)) in \(Quantity.seconds(milliseconds)), \
        \(Quantity.count(contents.users, "user")) and \(Quantity.count(contents.sessions, "session")). Read back: it is whole.
        It opens with the sealing key\(contents.file.sealingKeyID.map { " \($0)" } ?? "") alone. Keep that key too, and keep it \
        elsewhere.
        """
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("file", file)
        writer.member("bytes", Int64(contents.file.bytes))
        writer.member("milliseconds", milliseconds)
        writer.member("takenAt", takenAt.rfc3339)
        writer.member("users", Int64(contents.users))
        writer.member("sessions", Int64(contents.sessions))
        writer.member("schema", contents.file.schema)
        writer.member("sealingKeyID", contents.file.sealingKeyID)
        writer.endObject()
    }
}

/// Quantities in words.
package enum Quantity {
    /// `812 bytes`, `12 KiB`, `3.4 MiB`.
    package static func bytes(_ count: Int) -> String {
        if count < 1024 { return self.count(count, "byte") }
        if count < 1024 * 1024 { return "\(count / 1024) KiB" }
        let (size, unit) = count < 1 << 30 ? (1 << 20, "MiB") : (1 << 30, "GiB")
        return "\(count / size).\(count % size * 10 / size) \(unit)"
    }

    /// `0.4 s`
    package static func seconds(_ milliseconds: Int64) -> String {
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
