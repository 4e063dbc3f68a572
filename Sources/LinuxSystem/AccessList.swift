internal import CLinuxSystem

/// Access control lists of files: acl(5).
package enum AccessList {
    /// Whether a file or directory has a list, which may permit more than its owner, group and mode: getxattr(2).
    package static func exists(at path: String) -> Bool {
        getxattr(path, "system.posix_acl_access", nil, 0) > 0
    }
}
