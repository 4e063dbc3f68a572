import Foundation
import LinuxSensors
import LinuxSystem
import Testing

/// Requirement: a file is locked by one process at a time, the next one learns by which, and no lock outlives its holder.
@Suite final class FileLockTests {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("jostle-lock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private var path: String { directory.appendingPathComponent("lock").path }

    /// Keeps a lock alive up to this call.
    private func use(_ lock: borrowing FileLock) {}

    private func failure() -> FileLock.Failure? {
        do throws(FileLock.Failure) {
            _ = try FileLock.acquire(path)
            return nil
        } catch {
            return error
        }
    }

    @Test func refusesASecondLockAndNamesTheHolder() throws {
        do {
            let lock = try FileLock.acquire(path)
            guard case .inUse(let holder) = failure() else {
                Issue.record("acquired twice")
                return
            }
            #expect(holder.processIdentifier == getpid() && holder.name?.isEmpty == false)
            #expect(FileLock.holder(of: path) == holder)
            use(lock)
        }
        #expect(FileLock.holder(of: path) == nil && failure() == nil)
    }

    /// The file of a process that ended stays, and its lock does not.
    @Test func locksAnExistingFile() throws {
        try Data("anything".utf8).write(to: URL(fileURLWithPath: path))
        #expect(FileLock.holder(of: path) == nil && failure() == nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 8)
    }

    @Test func reportsAFileThatCannotBeOpened() throws {
        #expect(FileLock.holder(of: path) == nil)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
        #expect(failure() == .system(SystemFailure(code: ELOOP)))
        unlink(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(failure() == .system(SystemFailure(code: EISDIR)))
    }
}
