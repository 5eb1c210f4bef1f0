import Synchronization

/// The languages of the pages, each made on first use: making all of them took a fifth of the start, and most are never
/// read.
final class LanguageShelf: Sendable {
    private let first: Pages.Language
    private let others: Set<String>
    let made: Mutex<[String: Pages.Language]>
    private let make: @Sendable (String) throws(PagesError) -> Pages.Language

    /// - Parameters:
    ///   - first: made at once.
    ///   - others: the available tags; may include `first`.
    ///   - atOnce: whether to make all of them now.
    /// - Throws: what `make` throws for those made now.
    init(
        first: String, others: [String], atOnce: Bool,
        make: @escaping @Sendable (String) throws(PagesError) -> Pages.Language
    ) throws(PagesError) {
        self.first = try make(first)
        self.others = Set(others)
        self.make = make
        var made = [first: self.first]
        if atOnce {
            for tag in others where made[tag] == nil { made[tag] = try make(tag) }
        }
        self.made = Mutex(made)
    }

    /// Nil for a language that is not offered. The first reader waits a millisecond, as do concurrent ones.
    subscript(tag: String) -> Pages.Language? {
        made.withLock { made in
            if let language = made[tag] { return language }
            guard others.contains(tag) else { return nil }
            // Tests make every embedded language; if one fails after all, the first is better than none.
            let language = (try? make(tag)) ?? first
            made[tag] = language
            return language
        }
    }
}
