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

    /// The lock of an attribute; `nil` if this process may set none, so that it cannot disturb another one.
    private var lock: FileLock?

    private init(file: Int32, _ lock: consuming FileLock?) {
        self.file = file
        self.lock = lock
    }

    deinit { end() }

    /// Claims a device, without a change to it. Single values can be read without the device file; with `needsFile`, it
    /// must be opened.
    ///
    /// - Throws: `inUse` with the holder, if it is known; `cannotOpen`; `cannotWrite` if an attribute cannot be locked.
    static func make(_ device: IIODevice, in places: SystemPlaces, needsFile: Bool) throws(IIOError) -> IIOLock {
        let lock = try lock(device)
        let file = open("\(places.devices)/\(device.identifier)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let code = errno
        if file < 0, needsFile || ![ENOENT, EACCES, EPERM].contains(code) {
            // A program of ours would have locked the attribute.
            throw IIOError(
                code == EBUSY ? .inUse(by: ChipLock.Holder()) : .cannotOpen, device: device.title,
                SystemFailure(code: code))
        }
        return IIOLock(file: file, lock)
    }

    /// Releases the device. Restore the settings of the device before.
    func end() {
        if file >= 0 { close(file) }
        file = -1
        lock = nil
    }

    /// Locks the first attribute that this process may set. Every user may read the others, and could lock them for ever.
    private static func lock(_ device: IIODevice) throws(IIOError) -> FileLock? {
        for setting in ["sampling_frequency", "scale"] {
            for prefix in ["", "in_accel_", "in_anglvel_"] {
                let attribute = prefix + setting
                let file = open("\(device.path)/\(attribute)", O_RDWR | O_CLOEXEC)
                guard file >= 0 else { continue }
                do {
                    return try FileLock.acquire(file, attempts: .several)
                } catch {
                    switch error {
                    case .inUse(let holder):
                        throw IIOError(.inUse(by: holder), device: device.title, SystemFailure(code: EBUSY))
                    case .system(let failure):
                        throw IIOError(.cannotWrite(attribute: attribute), device: device.title, failure)
                    }
                }
            }
        }
        return nil
    }
}
