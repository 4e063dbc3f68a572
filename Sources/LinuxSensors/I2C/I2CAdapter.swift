internal import CLinuxI2C
internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// An open I2C adapter such as `/dev/i2c-1`. It is closed at the end of the value's lifetime.
///
/// Timeout and retries are not changed, because i2c-dev changes them for all users of the adapter.
package struct I2CAdapter: ~Copyable {
    /// The device file.
    package private(set) var path: String

    /// The adapter's capabilities.
    package private(set) var functionality: I2CFunctionality

    /// How registers are accessed; `nil` if they cannot be.
    private(set) var method: I2CMethod?

    /// -1 while it is closed.
    private(set) var descriptor: Int32

    /// The lock on a chip that this value holds.
    private var chipLock: ChipLock?

    /// Opens an adapter (`open`, `I2C_FUNCS`).
    ///
    /// - Throws: `cannotOpen`, or `notAnAdapter` for a file that is something else.
    package init(path: String) throws(LinuxSensorsError) {
        let (descriptor, functionality) = try Self.open(path)
        self.init(path, descriptor, functionality)
    }

    /// Does not throw: Swift 6.0.3 crashes on an initialiser that throws when properties are already set.
    private init(_ path: String, _ descriptor: Int32, _ functionality: I2CFunctionality) {
        self.path = path
        self.functionality = functionality
        self.method = I2CMethod(functionality)
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { Self.close(descriptor, chipLock) }
    }

    /// Takes the announcement back before the lock is released: the next holder needs its name.
    private static func close(_ descriptor: Int32, _ lock: consuming ChipLock?) {
        _ = consume lock
        Glibc.close(descriptor)
    }

    /// Closes the device file, which releases the lock. Later accesses fail.
    ///
    /// The kernel does not finish removing an unplugged adapter until its last user closes it (i2c_del_adapter waits),
    /// and does not reuse its number before.
    mutating func close() {
        guard descriptor >= 0 else { return }
        chipLock = nil
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Opens an adapter in place of the closed one, without a lock.
    ///
    /// - Throws: as `init` does; the adapter then stays closed.
    mutating func open(path: String) throws(LinuxSensorsError) {
        close()
        let (descriptor, functionality) = try Self.open(path)
        self.path = path
        self.functionality = functionality
        self.method = I2CMethod(functionality)
        self.descriptor = descriptor
    }

    /// Locks the chip at an address until the adapter is closed.
    ///
    /// - Throws: `inUse` with the holder if another process or descriptor has locked it; `cannotLock`.
    package mutating func lock(_ address: UInt8) throws(LinuxSensorsError) {
        try lock(address, attempts: .several)
    }

    /// Locks the chip at an address with more or less effort.
    mutating func lock(_ address: UInt8, attempts: ChipLock.Attempts) throws(LinuxSensorsError) {
        let lock = try ChipLock(adapter: descriptor, path: path, address: address, attempts: attempts)
        chipLock = consume lock
    }

    /// The holder of the lock on the chip at an address; `nil` if it is free, or if this adapter holds it.
    package func holder(at address: UInt8) -> ChipLock.Holder? {
        ChipLock.holder(adapter: descriptor, address: address)
    }

    private static func open(_ path: String) throws(LinuxSensorsError) -> (Int32, I2CFunctionality) {
        let descriptor = uninterrupted { linux_i2c_open(path) }
        guard descriptor >= 0 else {
            throw LinuxSensorsError(.cannotOpen, device: path, .opening(SystemFailure(code: -descriptor)))
        }
        var functionality: UInt = 0
        let answer = linux_i2c_functionality(descriptor, &functionality)
        guard answer == 0 else {
            Glibc.close(descriptor)
            throw LinuxSensorsError(.notAnAdapter, device: path, .opening(SystemFailure(code: -answer)))
        }
        return (descriptor, I2CFunctionality(rawValue: functionality))
    }

    /// The bus as the system lists it; `nil` if the path does not lead to a numbered bus.
    package var bus: I2CBus? {
        let resolved = SystemFiles.resolved(path) ?? path
        return I2CBus.number(inName: SystemFiles.lastComponent(of: resolved)).map { I2CBus(number: $0) }
    }
}
