internal import Accounts
package import ArgumentParser
internal import Sockets
import Storage

/// Why a command failed, or why `serve` does not start: one clear line for the operator.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// 1: it failed, or what it names does not exist. 64: usage error. 65: `unusableData`.
    package let code: Int32

    /// EX_DATAERR of sysexits.h: the input has nothing that the command looks for.
    package static let unusableData: Int32 = 65

    package init(_ description: String, code: Int32 = 1) {
        self.description = description
        self.code = code
    }

    /// EX_USAGE, as in ArgumentParser.
    package static func usage(_ description: String) -> CommandFailure { CommandFailure(description, code: 64) }
}

/// A command whose every failure becomes one line on standard error and an exit code. A closed pipe is not an error.
package protocol ReportingCommand: AsyncParsableCommand {
    func perform() async throws
}

extension ReportingCommand {
    package func run() async throws {
        StandardStream.reportLostReaders()
        do {
            try await perform()
        } catch let failure as CommandFailure {
            CommandOutput.remark("error: \(failure.description)")
            throw ExitCode(failure.code)
        } catch let failure as ConfigurationFailure {
            StandardError().write(Array((failure.description + "\n").utf8))
            throw ExitCode(1)
        } catch let error as StorageOpenError {
            CommandOutput.remark("error: \(error.description)")
            throw ExitCode(1)
        } catch  where error is Failure || error is StoreError {
            CommandOutput.remark("error: Database operation failed (\(error)).")
            throw ExitCode(1)
        }
    }
}
