import Foundation
import Glibc
import Sockets
import TemporaryFolders
import Testing

@Suite struct FilesTests {
    private let temporary: TemporaryFolder
    private var folder: String { temporary.path }

    init() throws { temporary = try TemporaryFolder(mode: 0o755) }

    @Test func createdFileHasItsBytesAndModeAndNoTemporaryRemains() throws {
        try Files.create(folder + "/key", mode: 0o600, bytes: [1, 2, 3])
        #expect(FileManager.default.contents(atPath: folder + "/key") == Data([1, 2, 3]))
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/key")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
    }

    @Test func stampDistinguishesContents() throws {
        let (path, other) = (folder + "/key", folder + "/other")
        #expect(FileStamp(of: path) == nil)
        try Files.create(path, mode: 0o600, bytes: [1])
        let first = try #require(FileStamp(of: path))
        #expect(FileStamp(of: path) == first)
        // Of the same size and age, and another file.
        try Files.create(other, mode: 0o600, bytes: [2])
        let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
        try FileManager.default.setAttributes([.modificationDate: date as Any], ofItemAtPath: other)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: other, toPath: path)
        let second = try #require(FileStamp(of: path))
        #expect(second != first)
        // Another mode may make it readable.
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let third = try #require(FileStamp(of: path))
        #expect(third != second)
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "key")
        #expect(FileStamp(of: folder + "/link") == third)
    }

    @Test func aFileThatExistsIsRefusedAndKept() throws {
        try Files.create(folder + "/key", mode: 0o600, bytes: [1])
        #expect(throws: SystemError.self) { try Files.create(folder + "/key", mode: 0o600, bytes: [2]) }
        #expect(FileManager.default.contents(atPath: folder + "/key") == Data([1]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
    }

    @Test func aReplacedFileHasTheNewBytesAndTheNewMode() throws {
        try Files.create(folder + "/key", mode: 0o644, bytes: [1])
        try Files.replace(folder + "/key", mode: 0o600, bytes: [2, 3])
        #expect(FileManager.default.contents(atPath: folder + "/key") == Data([2, 3]))
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/key")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
    }

    @Test func failedReplacementLeavesTheOldFileAlone() throws {
        try FileManager.default.createDirectory(atPath: folder + "/key", withIntermediateDirectories: false)
        #expect(throws: SystemError.self) { try Files.replace(folder + "/key", mode: 0o600, bytes: [1]) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
    }

    /// A process that was killed while it made the file leaves its unfinished copy under another name.
    @Test func temporaryFileOfAKilledProcessIsIgnored() throws {
        let left = folder + "/key.\(ProcessInfo.processInfo.processIdentifier).new"
        try Data([9]).write(to: URL(filePath: left))
        try Files.create(folder + "/key", mode: 0o600, bytes: [1])
        #expect(FileManager.default.contents(atPath: folder + "/key") == Data([1]))
    }

    /// A child has copies of all descriptors from its fork until it executes its program.
    @Test func releasedLockIsFreeDespiteACopiedDescriptor() throws {
        let path = folder + "/serve.lock"
        func lockAndCopy() throws -> Descriptor {
            let lock = try FileLock(path: path)
            #expect(throws: SystemError.self) { _ = try FileLock(path: path) }
            let copy = try copyOfDescriptor(of: path)
            _ = consume lock
            return copy
        }
        let copy = try lockAndCopy()
        _ = try FileLock(path: path)
        _ = consume copy
    }

    private func copyOfDescriptor(of path: String) throws -> Descriptor {
        let file = URL(filePath: path).resolvingSymlinksInPath().path
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            if target == file, let number = Int32(name) { return Descriptor(owning: dup(number)) }
        }
        throw CocoaError(.fileNoSuchFile)
    }
}
