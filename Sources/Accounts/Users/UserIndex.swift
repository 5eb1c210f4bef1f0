import Coding
package import Storage

// By which lists find people (`UserChoice`): the words of their names in user_word, their groups in user_group. user
// says of which name and groups these are, so that what an older version writes beside this one is found out.

extension PersonName {
    /// As the schema compares it with the name.
    var indexed: String { "\(given ?? "") \(family ?? "")" }
}

extension Transaction {
    /// Adds a user of whom the index knows nothing.
    func index(_ user: UserID, _ name: PersonName, createdAt: Timestamp) throws {
        for word in SearchWords.words(of: name).sorted() {
            try run("INSERT INTO user_word (word, created_at, user) VALUES (?, ?, ?)", [word, createdAt, user])
        }
    }

    func indexAgain(_ user: User) throws {
        try run("DELETE FROM user_word WHERE user = ?", [user.id])
        try run("DELETE FROM user_group WHERE user = ?", [user.id])
        try index(user.id, user.name, createdAt: user.createdAt)
        for group in user.groups {
            try run(
                "INSERT INTO user_group (name, created_at, user) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [group, user.createdAt, user.id])
        }
    }
}

extension Database {
    /// Indexes people whom a version without these indexes has written, or an update found there.
    /// - Returns: how many there were.
    package func indexPeople() async throws(StoreError) -> Int {
        try await inPieces { transaction, limit in
            let users: [UserID] = try transaction.rows(
                "SELECT id FROM user u WHERE \(Schema.isUnindexed) LIMIT ?", [limit]
            ).map { try $0["id"] }
            for id in users {
                guard let user = try transaction.user(id) else { continue }
                try transaction.indexAgain(user)
                try transaction.run(
                    "UPDATE user SET indexed_name = ?, indexed_groups = ? WHERE id = ?",
                    [user.name.indexed, TextList(user.groups), user.id])
            }
            return users.count
        }
    }
}
