internal import CLinuxI2C
internal import Glibc
package import LinuxSystem

/// An exclusive lock on a file, which says who has it.
///
/// The lock is on the first byte (`F_OFD_SETLK`), and belongs to the descriptor: the kernel releases it when the process
/// ends, however it ends. As with a `ChipLock`, the kernel does not report the holder, which therefore announces itself.
package struct FileLock: ~Copyable {
    private let descriptor: Int32
    /// `nil` if the announcement failed. That affects only messages.
    private let announcement: HolderAnnouncement?

    private init(_ descriptor: Int32, _ announcement: consuming HolderAnnouncement?) {
        self.descriptor = descriptor
        self.announcement = announcement
    }

    deinit {
        close(descriptor)
    }

    /// Why a file cannot be locked.
    package enum Failure: Error, Equatable, Sendable {
        /// Another descriptor of this or another process has the lock.
        case inUse(by: ChipLock.Holder)
        /// The file cannot be opened or locked.
        case system(SystemFailure)
    }

    /// Locks a file, which is created if there is none. It waits up to 20 ms for a holder that may be ending.
    package static func acquire(_ path: String) throws(Failure) -> FileLock {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(SystemFailure(code: errno)) }
        let answer = lock(descriptor)
        guard answer != 0 else { return FileLock(descriptor, announcement(descriptor)) }
        let isHeld = answer == -EAGAIN || answer == -EACCES
        let holder = isHeld ? ChipLock.holder(adapter: descriptor, address: offset) : nil
        close(descriptor)
        guard isHeld else { throw .system(SystemFailure(code: -answer)) }
        throw .inUse(by: holder ?? ChipLock.Holder())
    }

    /// Who has locked a file; `nil` if nobody has, or if it cannot be opened.
    package static func holder(of path: String) -> ChipLock.Holder? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return ChipLock.holder(adapter: descriptor, address: offset)
    }

    /// The byte that is locked.
    private static let offset: UInt8 = 0

    private static func lock(_ descriptor: Int32) -> Int32 {
        var answer: Int32 = 0
        for attempt in 0..<20 {
            if attempt > 0 { usleep(1000) }
            answer = linux_i2c_lock(descriptor, offset)
            guard answer == -EAGAIN || answer == -EACCES else { break }
        }
        return answer
    }

    private static func announcement(_ descriptor: Int32) -> HolderAnnouncement? {
        guard let file = DeviceFile(descriptor: descriptor) else { return nil }
        return HolderAnnouncement.make(file: file, address: offset)
    }
}
