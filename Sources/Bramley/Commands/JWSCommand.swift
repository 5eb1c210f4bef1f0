package import ArgumentParser

/// `bramley jws`
package struct JWSCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "jws", abstract: "Look at signatures.", subcommands: [])

    package init() {}
}
