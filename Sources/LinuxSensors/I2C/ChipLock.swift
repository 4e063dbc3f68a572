internal import CLinuxI2C
internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// An exclusive lock on one chip, that is, on an address on an adapter.
///
/// i2c-dev lets any number of programs access a chip, and two agents that empty the same FIFO corrupt each other's
/// samples. The lock is on one byte of the device file, at the offset of the chip's address (`F_OFD_SETLK`), so that
/// programs can use other chips on the bus. Only a program that may open the device file can lock it. The lock belongs
/// to the adapter's descriptor, and the kernel releases it when that is closed, however the process ends. A descriptor of
/// its own would keep an unplugged adapter from being removed.
///
/// The kernel does not report who holds such a lock. The holder therefore has a `HolderAnnouncement` as well.
///
/// The lock is cooperative: it does not affect programs that do not use it. It belongs to the inode of the device file
/// and not to the device. Programs see it across users, network namespaces and mounts of the same /dev, but not if they
/// open another node of the device: one that mknod has made, or that of a container with its own /dev.
package struct ChipLock: ~Copyable {
    /// The process that holds a lock.
    package struct Holder: Equatable, Sendable, CustomStringConvertible {
        /// The process; `nil` if it cannot be determined.
        package var processIdentifier: Int32?

        /// Its name; `nil` if it belongs to another process namespace, is hidden or has just ended.
        package var name: String?

        package init(processIdentifier: Int32? = nil, name: String? = nil) {
            self.processIdentifier = processIdentifier
            self.name = name
        }

        /// `jostle (process 412)`.
        package var description: String {
            guard let processIdentifier else { return "another process" }
            return "\(name ?? "another program") (process \(processIdentifier))"
        }
    }

    /// `nil` if the announcement failed. That affects only messages.
    private let announcement: HolderAnnouncement?

    /// Locks a chip for as long as the adapter's descriptor is open.
    ///
    /// - Throws: `inUse` if another descriptor of this or another process has locked the chip; `cannotLock` if the file
    ///   cannot be locked.
    init(adapter descriptor: Int32, path: String, address: UInt8, attempts: Attempts) throws(LinuxSensorsError) {
        announcement = try Self.acquire(descriptor, path, address, attempts)
    }

    /// How hard to try.
    enum Attempts {
        /// Once. The error does not identify the holder.
        case one
        /// Up to 20 ms, because the holder may be exiting, or may not have announced itself yet. The error identifies it
        /// if possible.
        case several
    }

    /// Who has locked a chip on this adapter; `nil` if it is free, or locked through this descriptor.
    static func holder(adapter descriptor: Int32, address: UInt8) -> Holder? {
        var process: Int32 = 0
        guard linux_i2c_is_locked(descriptor, address, &process) > 0 else { return nil }
        // Programs that are not ours may use a traditional lock, whose process the kernel reports.
        if process > 0 { return Holder(named: process) }
        guard let file = DeviceFile(descriptor: descriptor) else { return Holder() }
        return holder(LockSearch(file: file, offset: address))
    }

    /// Who holds a lock that another descriptor holds.
    static func holder(_ search: LockSearch) -> Holder {
        announcedHolder(search) ?? search.holder().map { Holder(named: $0) } ?? Holder()
    }

    private static func acquire(
        _ descriptor: Int32, _ path: String, _ address: UInt8, _ attempts: Attempts
    ) throws(LinuxSensorsError) -> HolderAnnouncement? {
        let file = DeviceFile(descriptor: descriptor)
        for _ in 0..<(attempts == .one ? 1 : 20) {
            let answer = linux_i2c_lock(descriptor, address)
            if answer == 0 {
                guard let file else { return nil }
                return HolderAnnouncement.make(file: file, address: address)
            }
            guard answer == -EAGAIN || answer == -EACCES else {
                let failure = SystemFailure(code: -answer)
                throw LinuxSensorsError(.cannotLock, device: path, address: address, .opening(failure))
            }
            guard attempts == .several else { throw inUse(by: Holder()) }
            if let file, let holder = announcedHolder(LockSearch(file: file, offset: address)) {
                throw inUse(by: holder)
            }
            usleep(1000)
        }
        throw inUse(by: holder(adapter: descriptor, address: address) ?? Holder())

        func inUse(by holder: Holder) -> LinuxSensorsError {
            LinuxSensorsError(.inUse(by: holder), device: path, address: address, BusError(.busy, code: EBUSY))
        }
    }

    /// The process that announces itself as the holder of a lock that is held, if that can be true.
    ///
    /// Any process can make such an announcement, so it is compared with the locks that /proc lists for the process.
    /// Without permission to read those, the process is believed if its user or groups may open the device file. It then
    /// could hold the lock, and could keep others off the chip anyway.
    private static func announcedHolder(_ search: LockSearch) -> Holder? {
        guard let peer = HolderAnnouncement.peer(file: search.file, address: search.offset),
            search.isHolder(peer.process) ?? peer.mayOpen(search.file)
        else { return nil }
        return Holder(named: peer.process)
    }
}

extension ChipLock.Holder {
    /// A process of this process namespace.
    fileprivate init(named process: Int32) {
        processIdentifier = process
        name = SystemFiles.line(of: "/proc/\(process)/comm").map { ForeignText.oneLine($0) }
    }
}
