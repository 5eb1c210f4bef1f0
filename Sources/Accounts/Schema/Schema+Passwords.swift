import Storage

// Passwords leave: an application drops its own.
extension Schema {
    static let withoutPasswords = SchemaStep(
        name: "0033-without-passwords", admits: "0026-operator",
        sql: """
            -- link: the one that was completed.
            ALTER TABLE event ADD COLUMN link TEXT;

            DROP TABLE username_try;
            DROP INDEX account_link_converting;
            DROP INDEX account_link_due;
            DROP INDEX account_link_end;
            CREATE INDEX account_link_end ON account_link (expires_at) WHERE ended_at IS NULL;

            """)
}
