internal import CLinuxI2C
internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// An open I2C adapter: `/dev/i2c-1`. Closed where it goes out of scope.
///
/// Timeout and retries are left as they are: i2c-dev changes them for the whole adapter and everybody on it.
package struct I2CAdapter: ~Copyable {
    /// The device file.
    package private(set) var path: String

    /// What the adapter can do.
    package private(set) var functionality: I2CFunctionality

    /// How registers are reached, nil where they cannot be.
    private(set) var method: I2CMethod?

    /// -1 while it is closed.
    private(set) var descriptor: Int32

    /// Opens an adapter (`open`, `I2C_FUNCS`).
    ///
    /// - Throws: `cannotOpen`, or `notAnAdapter` for a file that is something else.
    package init(path: String) throws(LinuxSensorsError) {
        let (descriptor, functionality) = try Self.open(path)
        self.path = path
        self.functionality = functionality
        self.method = I2CMethod(functionality)
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Closes the device file; what is asked of the adapter then fails.
    ///
    /// The kernel does not finish removing an adapter that was pulled out before the last who has it open does this
    /// (i2c_del_adapter waits), and gives its number to none that is plugged in.
    mutating func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Opens an adapter in the place of the one that was closed.
    ///
    /// - Throws: as `init`; it stays closed then.
    mutating func open(path: String) throws(LinuxSensorsError) {
        close()
        let (descriptor, functionality) = try Self.open(path)
        self.path = path
        self.functionality = functionality
        self.method = I2CMethod(functionality)
        self.descriptor = descriptor
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

    /// The bus as the system lists it, nil where the path does not lead to a numbered one.
    package var bus: I2CBus? {
        let resolved = SystemFiles.resolved(path) ?? path
        return I2CBus.number(inName: SystemFiles.lastComponent(of: resolved)).map { I2CBus(number: $0) }
    }
}
