internal import CLinuxI2C
internal import Glibc
package import IMUDrivers
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

    /// Announces this process as the holder of a chip's lock. `nil` without a lock, or if the announcement failed, which affects
    /// only messages.
    private var announcement: HolderAnnouncement?

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
        if descriptor >= 0 { Self.close(descriptor, announcement) }
    }

    /// Takes the announcement back before the lock is released: the next holder needs its name.
    private static func close(_ descriptor: Int32, _ announcement: consuming HolderAnnouncement?) {
        _ = consume announcement
        Glibc.close(descriptor)
    }

    /// Closes the device file, which releases the lock. Later accesses fail.
    ///
    /// The kernel does not finish removing an unplugged adapter until its last user closes it (i2c_del_adapter waits),
    /// and does not reuse its number before.
    mutating func close() {
        guard descriptor >= 0 else { return }
        announcement = nil
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
        do {
            let announcement = try ChipLock.acquire(descriptor, address, attempts)
            self.announcement = consume announcement
        } catch {
            switch error {
            case .inUse(let holder):
                let busy = BusError(.busy, code: EBUSY)
                throw LinuxSensorsError(.inUse(by: holder), device: path, address: address, busy)
            case .system(let failure):
                throw LinuxSensorsError(.cannotLock, device: path, address: address, .opening(failure))
            }
        }
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
    package var bus: I2CBus? { I2CBus(path: path) }
}

// One function per kind of transaction. The structures passed to the kernel are on the stack and nothing here
// allocates, because this is the sensor thread's main work.
extension I2CAdapter {
    /// Reads registers with two messages, a write of the register's number and a read (`I2C_RDWR`).
    ///
    /// There is only one read message, and it comes last: the Raspberry Pi's BCM2835 refuses anything else
    /// (i2c-bcm2835.c).
    func transferRead(
        _ register: UInt8, at address: UInt8, into destination: UnsafeMutableRawPointer, count: Int
    ) throws(BusError) {
        var register = register
        let answer = withUnsafeMutablePointer(to: &register) { number in
            var messages = (
                i2c_msg(addr: UInt16(address), flags: 0, len: 1, buf: number),
                i2c_msg(
                    addr: UInt16(address), flags: UInt16(I2C_M_RD), len: UInt16(count),
                    buf: destination.assumingMemoryBound(to: UInt8.self))
            )
            return transfer(&messages, count: 2)
        }
        try Self.check(answer, expected: 2)
    }

    /// Does that twice in one transfer, with repeated starts between the four messages.
    func transferRead(
        _ register: UInt8, into destination: UnsafeMutableRawPointer, count: Int, then second: UInt8,
        into secondDestination: UnsafeMutableRawPointer, count secondCount: Int, at address: UInt8
    ) throws(BusError) {
        var registers = (register, second)
        let answer = withUnsafeMutableBytes(of: &registers) { numbers in
            let number = numbers.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let read = UInt16(I2C_M_RD)
            var messages = (
                i2c_msg(addr: UInt16(address), flags: 0, len: 1, buf: number),
                i2c_msg(
                    addr: UInt16(address), flags: read, len: UInt16(count),
                    buf: destination.assumingMemoryBound(to: UInt8.self)),
                i2c_msg(addr: UInt16(address), flags: 0, len: 1, buf: number?.advanced(by: 1)),
                i2c_msg(
                    addr: UInt16(address), flags: read, len: UInt16(secondCount),
                    buf: secondDestination.assumingMemoryBound(to: UInt8.self))
            )
            return transfer(&messages, count: 4)
        }
        try Self.check(answer, expected: 4)
    }

    /// Writes one register with one message of two bytes (`I2C_RDWR`).
    func transferWrite(_ register: UInt8, _ value: UInt8, at address: UInt8) throws(BusError) {
        var bytes = (register, value)
        let answer = withUnsafeMutableBytes(of: &bytes) { bytes in
            var message = i2c_msg(
                addr: UInt16(address), flags: 0, len: 2, buf: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            return transfer(&message, count: 1)
        }
        try Self.check(answer, expected: 1)
    }

    /// Sets the address for the SMBus calls on this adapter (`I2C_SLAVE`).
    ///
    /// This is also the only way to find out that a kernel driver is bound to a chip: transfers do not check.
    func select(_ address: UInt8) throws(BusError) {
        let answer = uninterrupted { linux_i2c_select(descriptor, UInt(address)) }
        try Self.check(answer, expected: 0)
    }

    /// Reads up to 32 registers of the selected chip (`i2c_smbus_read_i2c_block_data`).
    func smbusReadBlock(
        _ register: UInt8, into destination: UnsafeMutableRawPointer, count: Int
    ) throws(BusError) {
        // libi2c copies as many bytes as the adapter's driver returns, which may differ from the number requested.
        var block: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let answer = withUnsafeMutableBytes(of: &block) { block in
            let bytes = block.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return uninterrupted { i2c_smbus_read_i2c_block_data(descriptor, register, UInt8(count), bytes) }
        }
        try Self.check(answer, expected: Int32(count))
        withUnsafeBytes(of: &block) { block in
            UnsafeMutableRawBufferPointer(start: destination, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: block.prefix(count)))
        }
    }

    /// Reads one register of the selected chip (`i2c_smbus_read_byte_data`).
    func smbusReadByte(_ register: UInt8) throws(BusError) -> UInt8 {
        let answer = uninterrupted { i2c_smbus_read_byte_data(descriptor, register) }
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        return UInt8(truncatingIfNeeded: answer)
    }

    /// Writes one register of the selected chip (`i2c_smbus_write_byte_data`).
    func smbusWriteByte(_ register: UInt8, _ value: UInt8) throws(BusError) {
        try Self.check(uninterrupted { i2c_smbus_write_byte_data(descriptor, register, value) }, expected: 0)
    }

    /// Passes `count` consecutive messages in `messages` to the adapter.
    private func transfer<Messages>(_ messages: inout Messages, count: UInt32) -> Int32 {
        withUnsafeMutableBytes(of: &messages) { messages in
            let first = messages.baseAddress?.assumingMemoryBound(to: i2c_msg.self)
            return uninterrupted { linux_i2c_transfer(descriptor, first, count) }
        }
    }

    /// Throws unless the answer is the expected one.
    private static func check(_ answer: Int32, expected: Int32) throws(BusError) {
        guard answer >= 0 else { throw .transaction(SystemFailure(code: -answer)) }
        // A transfer or block ended early. i2c-dev has no specific error for that.
        guard answer == expected else { throw BusError(.inputOutput, code: EIO) }
    }
}

// For scans.
extension I2CAdapter {
    /// Reads one register of the chip at an address, to identify it.
    ///
    /// The caller must choose a register that reading does not change, at an address where a register-based chip may be
    /// expected.
    ///
    /// - Throws: the bus error; `busy` if a kernel driver is bound to the chip.
    package func readRegister(_ register: UInt8, at address: UInt8) throws(BusError) -> UInt8 {
        try select(address)
        guard functionality.contains(.transfers) else { return try smbusReadByte(register) }
        var value: UInt8 = 0
        var failure: BusError?
        withUnsafeMutablePointer(to: &value) { value in
            do throws(BusError) {
                try transferRead(register, at: address, into: value, count: 1)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return value
    }

    /// Checks that the address is valid for a chip and that no kernel driver is bound to it, and selects it.
    func checkOwner(of address: UInt8) throws(LinuxSensorsError) {
        // The other addresses are reserved (UM10204, table 3).
        guard (0x08...0x77).contains(address) else {
            throw LinuxSensorsError(
                .invalidAddress, device: path, address: address, BusError(.unsupported, code: EINVAL))
        }
        do throws(BusError) {
            try select(address)
        } catch {
            guard error.kind == .busy else {
                throw LinuxSensorsError(.notAnAdapter, device: path, address: address, error)
            }
            throw LinuxSensorsError(
                .kernelDriver(name: bus?.kernelDriver(at: address)), device: path, address: address, error)
        }
    }
}
