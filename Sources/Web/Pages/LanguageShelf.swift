import Synchronization

/// The languages of the pages, each made when somebody first asks for it: making all of them at the start took a fifth of
/// it, and most of them are never read.
final class LanguageShelf: Sendable {
    private let first: Pages.Language
    private let others: Set<String>
    private let made: Mutex<[String: Pages.Language]>
    private let make: @Sendable (String) throws(PagesError) -> Pages.Language

    /// - Parameters:
    ///   - first: made at once.
    ///   - others: the tags there are; `first` may be among them.
    ///   - atOnce: all of them are made now.
    /// - Throws: what `make` throws for those that are made now.
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

    /// Nil for a language that is not offered. Whoever asks first waits a millisecond, as do others who ask meanwhile.
    subscript(tag: String) -> Pages.Language? {
        made.withLock { made in
            if let language = made[tag] { return language }
            guard others.contains(tag) else { return nil }
            // Tests make every embedded language; should one not be makeable after all, the first one is better than none.
            let language = (try? make(tag)) ?? first
            made[tag] = language
            return language
        }
    }

    /// How many have been made.
    var madeCount: Int { made.withLock { $0.count } }
}
