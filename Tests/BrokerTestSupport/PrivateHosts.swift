import Foundation

/// A hosts file of its own for one thread: another file mounted over /etc/hosts in a mount namespace (unshare(2)). Needs
/// the permissions of root.
package enum PrivateHosts {
    /// Whether this process may mount the file.
    package static let isAvailable: Bool = {
        let isRun = Flag()
        run("/etc/hosts") { isRun.set() }
        return isRun.isSet
    }()

    /// Runs `body` on a thread for which `/etc/hosts` is this file, and waits for its end. Does nothing if that is not
    /// permitted.
    package static func run(_ file: String, _ body: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread {
            // CLONE_NEWNS of sched.h; MS_REC | MS_PRIVATE, so that the mount stays here; MS_BIND.
            let isOwn = unshare(0x0002_0000) && mount(nil, on: "/", flags: 0x4000 | 1 << 18)
            if isOwn, mount(file, on: "/etc/hosts", flags: 0x1000) { body() }
            isDone.signal()
        }
        thread.start()
        isDone.wait()
    }

    private static func mount(_ source: String?, on target: String, flags: UInt) -> Bool {
        Glibc.mount(source, target, nil, flags, nil) == 0
    }
}

/// Gives the calling thread namespaces of its own (unshare(2)).
func unshare(_ flags: Int32) -> Bool {
    // Not declared without _GNU_SOURCE.
    guard let symbol = dlsym(nil, "unshare") else { return false }
    typealias Function = @convention(c) (Int32) -> Int32
    return unsafeBitCast(symbol, to: Function.self)(flags) == 0
}
