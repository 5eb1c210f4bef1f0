import Accounts
import Web

extension ConfigurationTable {
    /// Names and ranges are those of Apple's script for its button.
    @KeyList static var buttonKeys: [Key] {
        Key(
            "button.color", .choice, into: \.web.button.color,
            "The colour of Apple's button. Without it: black on light pages, white on dark ones.")
        Key("button.type", .choice, into: \.web.button.kind, "Its label: sign in, continue or sign up with Apple.")
        Key("button.mode", .choice, into: \.web.button.mode, "Where its logo and label are.")
        Key("button.border", .boolean, into: \.web.button.border, "Whether it has a border.")
        Key(
            "button.borderRadius", .integer(0...50, "pixels"), into: \.web.button.borderRadius,
            "How round its corners are.")
        Key("button.width", .length(130...375), into: \.web.button.width, "Its width.")
        Key("button.height", .length(30...64, full: 48), into: \.web.button.height, "Its height.")
        Key(
            "button.size", .integer(30...64, "pixels"), into: \.web.button.size,
            "Its width and height in the mode `logo-only`.")
        Key("button.logoSize", .choice, into: \.web.button.logoSize, "The size of the logo in the mode `left-align`.")
        Key(
            "button.logoPosition", .integer(0...375, "pixels"), into: \.web.button.logoPosition,
            "The logo's distance from the left edge in the mode `left-align`.")
        Key(
            "button.labelPosition", .integer(0...375, "pixels"), into: \.web.button.labelPosition,
            "The label's distance from the left edge in the mode `left-align`.")
    }

    @KeyList static var siteKeys: [Key] {
        Key(
            "site.name", .text, .derived("publicURL's host"), into: \.web.site.name,
            "What people sign in to, as shown on the pages.")
        Key(
            "site.logo", .link, into: \.web.site.logo,
            "A picture for the login page: an https address or a path of publicURL's host.")
        Key(
            "site.privacyURL", .link, into: \.web.site.privacyURL,
            "The privacy policy: an https address or a path of publicURL's host.")
        Key(
            "site.termsURL", .link, into: \.web.site.termsURL,
            "The terms of use: an https address or a path of publicURL's host.")
        Key(
            "site.supportURL", .supportLink, into: \.web.site.supportURL,
            """
            Where people get help: an https address, a path of publicURL's host, or `mailto:help@example.com`.
            """)
        Key(
            "site.homeURL", .link, into: \.web.site.homeURL,
            """
            Your site's start page, which pages link to: an https address or a path of publicURL's host. Without it, \
            pages link to `/` of publicURL.
            """)
    }

    @KeyList static var pagesKeys: [Key] {
        Key(
            "pages.directory", .directory, into: \.pagesDirectory,
            """
            Your own templates, texts and assets. Each replaces the built-in one of the same name. Read at start. \
            `bramley pages export DIR` writes all built-in ones.
            """)
        Key(
            "pages.locales", .list, into: \.web.locales, example: "[\"en\", \"de\"]",
            """
            The languages of the pages, as language tags. The first is for visitors who read none of them. Files in \
            pages.directory can add languages.
            """)
    }

    @KeyList static var sessionKeys: [Key] {
        Key(
            "sessions.lifetime", .integer(60...34_560_000, "seconds"), into: \.web.sessions.limits.lifetime,
            "When a session ends even if it is in use. 30 days by default; browsers keep cookies for 400 days at most.")
        Key(
            "sessions.idleTimeout", .integer(60...34_560_000, "seconds"), into: \.web.sessions.limits.idleTimeout,
            "When an unused session ends. 14 days by default; at most sessions.lifetime.")
        Key(
            "sessions.perUser", .integer(1...1_000), into: \.web.sessions.limits.perUser,
            "How many sessions one person may have, browsers and apps together. The oldest end when one more begins.")
        Key(
            "sessions.cookieDomain", .text, into: \.web.sessions.cookieDomain,
            """
            A parent domain of publicURL's host, such as `example.com`. All its hosts then receive the session cookie. \
            Without it only publicURL's host does, which is safer.
            """)
        Key(
            "sessions.cacheMemory", .integer(1_048_576...68_719_476_736, "bytes"), into: \.web.sessions.cacheMemory,
            """
            Memory for cached sessions, all event loops together. About 150 bytes a session and loop; used as far as \
            there are sessions.
            """)
    }

    @KeyList static var storageKeys: [Key] {
        Key(
            "storage.directory", .databaseDirectory, into: \.storage.directory,
            "Where `bramley.db` is. Use a local file system; network file systems are not supported.")
        Key.twins(
            "storage.postgres.urlFile",
            """
            A file with a connection string of PostgreSQL (14 or later). The database is there instead of in \
            storage.directory, and several servers may share it: [more than one machine](high-availability.md).
            """, inline: "The connection string instead of a file, for example `postgresql://bramley@db1,db2/bramley`.")
        Key(
            "storage.postgres.trust", .milliseconds(1...60), into: \.storage.postgresTrust,
            """
            How long a server that hears nothing from PostgreSQL answers from its memory who is signed in. A session \
            ended on another server may be accepted for as long.
            """)
        Key.twins(
            "secrets.sealingKeyFile", presence: .derived("sealing.key in storage.directory"),
            """
            The key that encrypts secrets in the database and in cookies: 64 hexadecimal digits (`openssl rand -hex \
            32`). Bramley creates it with a new database if there is none. Back it up separately from the database.
            """, inline: "The 64 digits instead of a file.")
        Key.twins(
            "secrets.previousSealingKeyFiles", type: .list, presence: .default([]),
            "Keys used before. They still open what they sealed.", inline: "The digits of those keys instead of files.")
    }

    @KeyList static var apiKeys: [Key] {
        Key(
            "api.allowedOrigins", .origins, into: \.web.apiOrigins,
            """
            Exact https origins, besides publicURL's own, whose pages may ask who is signed in (CORS): \
            `GET /api/v1/session` and `GET /api/v1/session/assertion`. Only publicURL's own pages may change anything.
            """)
    }

    @KeyList static var operatorKeys: [Key] {
        Key(
            "operator.groups", .list, into: \.web.operatorGroups,
            """
            Whose members may open the [operator's page](operator.md), `/operator`, such as `["admins"]`. Without a group \
            the page does not exist. Put the first person into the group with `bramley users groups`.
            """)
    }

    @KeyList static var retentionKeys: [Key] {
        Key(
            "retention.events", .integer(3_600...315_360_000, "seconds"), into: \.retention.events,
            """
            How long journal entries are kept, 90 days by default. An entry still to be sent to a webhook endpoint is \
            kept until it is delivered or given up.
            """)
        Key(
            "retention.notifications", .integer(3_600...315_360_000, "seconds"), into: \.retention.notifications,
            """
            How long the payloads of Apple's notifications are kept, 30 days by default. Without its payload, a \
            notification cannot be replayed. Its ID is kept for at least 30 days, so that a repetition has no effect.
            """)
        Key(
            "retention.audit", .integer(86_400...315_360_000, "seconds"), into: \.retention.audit,
            """
            How long the lines of the [audit log](operating.md#audit-log) are kept, 400 days by default. They outlive \
            the users they are about and do not contain their names.
            """)
    }
}

// What leaves for your applications.
extension ConfigurationTable {
    @KeyList static var assertionKeys: [Key] {
        Key(
            "assertion.audience", .list, .default([]),
            example: "\"https://api.example.com\", or several in square brackets", acceptsOneText: true,
            """
            Enables signed assertions for your backends and is their `aud`: a name or address of the backends that read \
            them, such as `https://api.example.com`. If there are several, each is requested by its name. See \
            [assertion.md](assertion.md).
            """)
        Key(
            "assertion.rs256Audiences", .list, .default([]),
            """
            Those of `assertion.audience` whose assertions are signed with RS256 instead of ES256, for gateways that \
            support only that.
            """)
    }

    @KeyList static var webhookKeys: [Key] {
        Key(
            "webhooks.url", .list, .default([]),
            example: "\"https://app.example.com/webhooks\", or several in square brackets", acceptsOneText: true,
            """
            Where to send events: one https address, or several, which do not wait for each other. http is accepted for \
            localhost only. It may have a query, which commands and logs do not show, and an IPv6 address in brackets as \
            its host. See [events](events.md).
            """)
        Key.twins(
            "webhooks.secretFile", type: .list, presence: .default([]), isEachSeveral: true,
            """
            The secrets that sign events, one a line: `whsec_` and 24 to 64 random bytes in base64. All secrets in a file \
            sign, so you can add a new one beside the old one. Bramley reads the file again when it changes. Give one \
            file for all addresses of `webhooks.url`, or one for each, in the same order. Required with `webhooks.url`.
            """, inline: "The same, inline; `\\n` between two secrets of one address.")
        Key(
            "webhooks.events", .webhookEvents, .default(.list(JournalEntry.Kind.allCases.map(\.rawValue))),
            """
            The types of events to send. To choose types for one address, write the address and its types in one entry, \
            separated by spaces, such as `"https://audit.example.com/in account.deleted user.created"`. Other entries \
            apply to the addresses without such an entry.
            """)
    }
}
