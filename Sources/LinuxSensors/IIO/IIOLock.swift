internal import CLinuxI2C
internal import Glibc
internal import LinuxSystem

/// The exclusive use of a kernel driver's device, until `end` or the end of the object's lifetime.
///
/// The kernel admits one program to the device file (iio_chrdev_open). But it lets any number of programs set attributes
/// and read single values, and a device without buffer and events has no device file. So programs of ours also lock an
/// attribute, as they lock a chip on a bus, and the holder announces itself in the same way (`ChipLock`).
final class IIOLock {
    /// The device file, open for reading; -1 if there is none, or if this process may not open it.
    private(set) var file: Int32

    /// The locked attribute; -1 if this process may set none, so that it cannot disturb another one.
    private var attribute: Int32

    /// `nil` if the announcement failed. That affects only messages.
    private var announcement: HolderAnnouncement?

    private init(file: Int32, attribute: Int32) {
        self.file = file
        self.attribute = attribute
        announcement = nil
        guard attribute >= 0, let identity = DeviceFile(descriptor: attribute) else { return }
        announcement = HolderAnnouncement.make(file: identity, address: IIOLock.offset)
    }

    deinit { end() }

    /// Claims a device, without a change to it. Single values can be read without the device file; with `needsFile`, it
    /// must be opened.
    ///
    /// - Throws: `inUse` with the holder, if it is known; `cannotOpen`; `cannotWrite` if an attribute cannot be locked.
    static func make(_ device: IIODevice, in places: IIOPlaces, needsFile: Bool) throws(IIOError) -> IIOLock {
        let attribute = try lock(device)
        let file = open("\(places.devices)/\(device.identifier)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let code = errno
        if file < 0, needsFile || ![ENOENT, EACCES, EPERM].contains(code) {
            if attribute >= 0 { close(attribute) }
            // A program of ours would have locked the attribute.
            throw IIOError(
                code == EBUSY ? .inUse(by: ChipLock.Holder()) : .cannotOpen, device: device.title,
                SystemFailure(code: code))
        }
        return IIOLock(file: file, attribute: attribute)
    }

    /// Releases the device. Restore the settings of the device before.
    func end() {
        // First, because the next holder needs its name.
        announcement = nil
        if file >= 0 { close(file) }
        if attribute >= 0 { close(attribute) }
        file = -1
        attribute = -1
    }

    /// The byte that is locked.
    private static let offset: UInt8 = 0

    /// Locks the first attribute that this process may set. Every user may read the others, and could lock them for ever.
    ///
    /// - Returns: its descriptor, or -1.
    private static func lock(_ device: IIODevice) throws(IIOError) -> Int32 {
        for setting in ["sampling_frequency", "scale"] {
            for prefix in ["", "in_accel_", "in_anglvel_"] {
                let attribute = prefix + setting
                let file = open("\(device.path)/\(attribute)", O_RDWR | O_CLOEXEC)
                guard file >= 0 else { continue }
                let answer = linux_i2c_lock(file, offset)
                if answer == 0 { return file }
                let identity = DeviceFile(descriptor: file)
                close(file)
                guard answer == -EAGAIN || answer == -EACCES else {
                    throw IIOError(
                        .cannotWrite(attribute: attribute), device: device.title, SystemFailure(code: -answer))
                }
                let holder = identity.map { ChipLock.holder(LockSearch(file: $0, offset: offset)) }
                throw IIOError(
                    .inUse(by: holder ?? ChipLock.Holder()), device: device.title, SystemFailure(code: EBUSY))
            }
        }
        return -1
    }
}
