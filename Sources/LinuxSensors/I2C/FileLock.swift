internal import Glibc
package import LinuxSystem

/// An exclusive lock on a file, which says who has it.
///
/// The lock is on the first byte (`F_OFD_SETLK`), and belongs to the descriptor: the kernel releases it when the process
/// ends, however it ends. As with a `ChipLock`, the kernel does not report the holder, which therefore announces itself.
package struct FileLock: ~Copyable {
    // They end in this order: the next holder needs the name.
    /// `nil` if the announcement failed. That affects only messages.
    private let announcement: HolderAnnouncement?
    private let descriptor: Descriptor

    /// An open descriptor. Not private: an optimised program of several modules does not link then (Swift 6.3.1).
    struct Descriptor: ~Copyable {
        let number: Int32

        deinit {
            close(number)
        }
    }

    private init(_ descriptor: Int32, _ announcement: consuming HolderAnnouncement?) {
        self.descriptor = Descriptor(number: descriptor)
        self.announcement = announcement
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
        return try acquire(descriptor, attempts: .patient)
    }

    /// Locks an open file, whose descriptor is closed with the lock, or if that fails.
    static func acquire(_ descriptor: Int32, attempts: ChipLock.Attempts) throws(Failure) -> FileLock {
        do {
            return FileLock(descriptor, try ChipLock.acquire(descriptor, offset, attempts))
        } catch {
            close(descriptor)
            throw error
        }
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
}
