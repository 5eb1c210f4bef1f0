import Accounts
import Web

extension ConfigurationTable {
    /// Names and ranges are those of Apple's script for its button.
    @KeyList static var buttonKeys: [Key] {
        Key(
            "button.color", .choice, into: \.web.button.color,
            "The button's colour. Without it: black on light pages, white on dark ones.")
        Key("button.type", .choice, into: \.web.button.kind, "Its label.")
        Key("button.mode", .choice, into: \.web.button.mode, "Where its logo and label are.")
        Key("button.border", .boolean, into: \.web.button.border, "Whether it has a border.")
        Key(
            "button.borderRadius", .integer(0...50, "pixels"), into: \.web.button.borderRadius,
            "The radius of its corners.")
        Key("button.width", .length(130...375), into: \.web.button.width, "Its width.")
        Key("button.height", .length(30...64, full: 48), into: \.web.button.height, "Its height.")
        Key(
            "button.size", .integer(30...64, "pixels"), into: \.web.button.size,
            "Its width and height, if `logo-only`.")
        Key("button.logoSize", .choice, into: \.web.button.logoSize, "The size of its logo, if `left-align`.")
        Key(
            "button.logoPosition", .integer(0...375, "pixels"), into: \.web.button.logoPosition,
            "The logo's distance from the left, if `left-align`.")
        Key(
            "button.labelPosition", .integer(0...375, "pixels"), into: \.web.button.labelPosition,
            "The label's distance from the left, if `left-align`.")
    }

    @KeyList static var siteKeys: [Key] {
        Key("site.name", .text, .derived("publicURL's host"), into: \.web.site.name, "The site's name on the pages.")
        Key(
            "site.logoFile", .logo, into: \.web.site.logoFile, twin: "site.logo",
            "A logo instead of the name on the pages: an SVG or PNG file of at most 262,144 bytes.")
        Key(
            "site.logo", .link, into: \.web.site.logo, twin: "site.logoFile",
            "The same from elsewhere: its address.")
        Key(
            "site.accentColor", .accentColor, into: \.web.site.accentColor, example: "\"#2f6b3c\"",
            """
            The colour of links and buttons, such as `#2f6b3c`. It needs a contrast of 4.5:1 to the pages' light \
            background; dark pages use a lighter one.
            """)
        Key("site.privacyURL", .link, into: \.web.site.privacyURL, "The privacy policy.")
        Key("site.termsURL", .link, into: \.web.site.termsURL, "The terms of use.")
        Key(
            "site.supportURL", .supportLink, into: \.web.site.supportURL,
            "Where people get help; may be `mailto:help@example.com`.")
        Key("site.homeURL", .link, into: \.web.site.homeURL, "Your site's start page. Without it: `/` of publicURL.")
    }

    @KeyList static var pagesKeys: [Key] {
        Key(
            "pages.directory", .directory, into: \.pagesDirectory,
            "Your own [templates, texts and assets](../operate/pages.md#your-own-files).")
        Key(
            "pages.locales", .list, into: \.web.locales, example: "[\"en\", \"de\"]",
            "The languages of the pages; the first is the fallback.")
    }

    @KeyList static var sessionKeys: [Key] {
        Key(
            "sessions.lifetime", .integer(60...34_560_000, "seconds"), into: \.web.sessionLimits.lifetime,
            "How long a session lasts, even in use; 30 days by default.")
        Key(
            "sessions.idleTimeout", .integer(60...34_560_000, "seconds"), into: \.web.sessionLimits.idleTimeout,
            "How long an unused session lasts; 14 days by default, at most sessions.lifetime.")
        Key(
            "sessions.perUser", .integer(1...1_000), into: \.web.sessionLimits.perUser,
            "Sessions per person, in browsers and apps. One more ends the oldest.")
        Key(
            "sessions.cookieDomain", .text, into: \.web.cookieDomain,
            """
            A parent domain of publicURL's host, such as `example.com`; all hosts below it receive the session \
            cookie. Safer unset.
            """)
        Key(
            "sessions.cacheMemory", .integer(1_048_576...68_719_476_736, "bytes"), into: \.web.sessionCacheMemory,
            "Memory for cached sessions, about 150 bytes per session and event loop.")
    }

    @KeyList static var storageKeys: [Key] {
        Key(
            "storage.directory", .databaseDirectory, into: \.storage.directory,
            "Where `bramley.db` is. Network file systems are not supported.")
        Key.twins(
            "storage.postgres.urlFile",
            """
            A file with a connection string of [PostgreSQL](../operate/several-machines.md) (14 or later), instead \
            of SQLite.
            """, inline: "The connection string, such as `postgresql://bramley@db1,db2/bramley`.")
        Key(
            "storage.postgres.trust", .milliseconds(1...60), into: \.storage.postgresTrust,
            "How long a server that lost PostgreSQL answers from memory who is signed in.")
        Key.twins(
            "secrets.sealingKeyFile", presence: .derived("sealing.key in storage.directory"),
            """
            Encrypts secrets in the database and in cookies: 64 hexadecimal digits (`openssl rand -hex 32`). Created \
            with a new database. [Back it up](../operate/backup.md#what-to-keep) separately.
            """, inline: "The 64 digits.")
        Key.twins(
            "secrets.previousSealingKeyFiles", type: .list, presence: .default([]),
            "Former keys, which still open what they sealed.", inline: "Their digits.")
    }

    @KeyList static var apiKeys: [Key] {
        Key(
            "api.allowedOrigins", .origins, into: \.web.apiOrigins,
            "Further https origins whose pages may [ask who is signed in](api.md#pages-of-other-origins) (CORS).")
    }

    @KeyList static var operatorKeys: [Key] {
        Key(
            "operator.groups", .list, into: \.web.operatorGroups,
            "Groups (no `org:ID`) whose members may open the [operator's page](../operate/operator.md), such as `[\"admins\"]`."
        )
    }

    @KeyList static var retentionKeys: [Key] {
        Key(
            "retention.events", .integer(3_600...315_360_000, "seconds"), into: \.retention.events,
            "Journal entries; 90 days by default, longer while they wait for a webhook endpoint.")
        Key(
            "retention.notifications", .integer(3_600...315_360_000, "seconds"), into: \.retention.notifications,
            "Payloads of Apple's notifications, needed to replay them; 30 days by default.")
        Key(
            "retention.audit", .integer(86_400...315_360_000, "seconds"), into: \.retention.audit,
            "Lines of the [audit log](../operate/audit-log.md); 400 days by default.")
    }
}

// What your applications receive.
extension ConfigurationTable {
    @KeyList static var openIDKeys: [Key] {
        Key(
            "openid.clientDocuments", .documentHosts, into: \.clientDocuments,
            example: "[\"claude.ai\", \"chatgpt.com\"]",
            """
            Hosts whose [applications](../apps/openid.md#client-documents) need no registration: their \
            `client_id` is the https address of a document about them. `["*"]` allows every public host.
            """)
    }

    @KeyList static var assertionKeys: [Key] {
        Key(
            "assertion.audience", .list, .default([]),
            example: "\"https://api.example.com\", or several in square brackets", acceptsOneText: true,
            "The `aud` of [signed assertions](../apps/assertion.md), such as `https://api.example.com`; enables them.")
        Key(
            "assertion.rs256Audiences", .list, .default([]),
            "Those of `assertion.audience` signed with RS256 instead of ES256.")
    }

    @KeyList static var webhookKeys: [Key] {
        Key(
            "webhooks.url", .list, .default([]),
            example: "\"https://app.example.com/webhooks\", or several in square brackets", acceptsOneText: true,
            "https addresses to send [events](../apps/events.md) to; http only on localhost.")
        Key.twins(
            "webhooks.secretFile", type: .list, presence: .default([]), isEachSeveral: true,
            """
            The secrets that sign events, one per line: `whsec_` and 24 to 64 random bytes in base64. One file for \
            all addresses of `webhooks.url`, or one for each, in order.
            """, inline: "The same, inline; `\\n` between two secrets of one address.")
        Key(
            "webhooks.events", .webhookEvents, .default(.list(JournalEntry.Kind.allCases.map(\.rawValue))),
            """
            The [types](../apps/events.md#types) to send. \
            `"https://audit.example.com/in account.deleted user.created"` selects types for one address; other \
            entries apply to the others.
            """)
    }
}
