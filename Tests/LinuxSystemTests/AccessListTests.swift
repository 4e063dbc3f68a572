import CLinuxSystem
import Foundation
import LinuxSystem
import Testing

/// Requirement: a file whose access control list may permit more than its mode is recognised.
@Suite struct AccessListTests {
    @Test func findsList() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString)").path
        try "secret\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        #expect(!AccessList.exists(at: file))
        #expect(!AccessList.exists(at: file + ".missing"))
        // acl(5), version 2: the owner may write, user 4242 and the mask may read, group and others may do nothing.
        var list: [UInt8] = [2, 0, 0, 0]
        for (tag, permissions, id) in [
            (1, 6, .max), (2, 4, 4242), (4, 0, .max), (0x10, 4, .max), (0x20, 0, .max),
        ] as [(UInt16, UInt16, UInt32)] {
            withUnsafeBytes(of: tag.littleEndian) { list += $0 }
            withUnsafeBytes(of: permissions.littleEndian) { list += $0 }
            withUnsafeBytes(of: id.littleEndian) { list += $0 }
        }
        guard setxattr(file, "system.posix_acl_access", list, list.count, 0) == 0 else {
            #expect(errno == EOPNOTSUPP, "this file system has no lists")
            return
        }
        #expect(AccessList.exists(at: file))
    }
}
