import Foundation
import Testing

@testable import Sockets

@Suite struct PromptStandardErrorTests {
    /// Regression: a hung disk stopped the loop that wrote to a file of it.
    @Test func aFileIsWrittenByTheThread() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)")
        try Data().write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forWritingTo: path)
        #expect(PromptStandardError(file.fileDescriptor) == nil)
        let pipe = Pipe()
        #expect(PromptStandardError(pipe.fileHandleForWriting.fileDescriptor)?.write([65]) == 1)
    }
}
