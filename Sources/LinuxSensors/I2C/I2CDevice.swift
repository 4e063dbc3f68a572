internal import Glibc
package import IMUDrivers

/// One chip on an I2C adapter of this machine, as the register bus that its driver owns.
///
/// It owns the adapter, which holds the chip's lock. Transactions of other processes with other chips may come between
/// its own.
package struct I2CDevice: RegisterBus, ~Copyable {
    var adapter: I2CAdapter
    var method: I2CMethod
    /// The device file of the chip's bus, also while the bus is gone, and the bus at the start.
    var path: String
    let firstPath: String
    /// Where else to search for the chip once it is lost; `nil` if only its own place is tried.
    let search: Search?

    /// The chip's address.
    package internal(set) var address: UInt8

    /// The longest read in one transaction, bytes: 8192, or 32 or 1 on an adapter that supports only SMBus.
    ///
    /// It drops to 32 when an adapter refuses a longer read. Some USB adapters do, and no ioctl reports the limit.
    package internal(set) var maximumReadLength: Int

    /// Opens the adapter, locks the chip and checks that no kernel driver is bound to it. Nothing is sent yet.
    ///
    /// With a `search`, the chip is also searched for in other places when it is lost.
    /// - Throws: why the chip cannot be used, with the name of its present user.
    package init(path: String, address: UInt8, search: Search? = nil) throws(LinuxSensorsError) {
        var adapter = try I2CAdapter(path: path)
        try adapter.lock(address)
        let method = try adapter.usableMethod(at: address)
        self.init(adapter, address, method, search)
    }

    /// Does not throw: Swift 6.0.3 crashes on an initialiser that throws when properties are already set.
    private init(
        _ adapter: consuming I2CAdapter, _ address: UInt8, _ method: I2CMethod, _ search: Search?
    ) {
        path = adapter.path
        firstPath = adapter.path
        self.adapter = adapter
        self.method = method
        self.search = search
        self.address = address
        maximumReadLength = method.maximumReadLength
    }

    /// Why the adapter can identify the chip, but not carry its samples; `nil` if it can.
    package var limitation: LinuxSensorsError? {
        guard method.maximumReadLength == 1 else { return nil }
        return LinuxSensorsError(
            .singleBytes(adapter.functionality), device: path, BusError(.unsupported, code: EOPNOTSUPP))
    }

    /// Reads `buffer.count` bytes, starting at `register`, in one transaction; does nothing if the buffer is empty.
    ///
    /// - Throws: the kernel's error; `unsupported` for more than `maximumReadLength` bytes, `absent` while the adapter
    ///   is gone.
    package mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        guard let destination = buffer.baseAddress, !buffer.isEmpty else { return }
        guard adapter.descriptor >= 0 else { throw BusError(.absent, code: ENODEV) }
        // libi2c would read 32 bytes without an error.
        guard buffer.count <= maximumReadLength else { throw BusError(.unsupported, code: EINVAL) }
        switch method {
        case .transfers:
            do throws(BusError) {
                try adapter.transferRead(register, at: address, into: destination, count: buffer.count)
            } catch {
                if error.kind == .unsupported {
                    maximumReadLength = min(maximumReadLength, I2CMethod.smbusBlocks.maximumReadLength)
                }
                throw error
            }
        case .smbusBlocks:
            try adapter.smbusReadBlock(register, into: destination, count: buffer.count)
        case .smbusBytes:
            destination.storeBytes(of: try adapter.smbusReadByte(register), as: UInt8.self)
        }
    }

    /// Writes one byte to `register`.
    ///
    /// - Throws: the kernel's error; `absent` while the adapter is gone.
    package mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        guard adapter.descriptor >= 0 else { throw BusError(.absent, code: ENODEV) }
        switch method {
        case .transfers: try adapter.transferWrite(register, value, at: address)
        case .smbusBlocks, .smbusBytes: try adapter.smbusWriteByte(register, value)
        }
    }
}

extension I2CAdapter {
    /// The access method for the chip at an address, to which no kernel driver may be bound. Selects the address.
    ///
    /// - Throws: `invalidAddress`, `insufficientAdapter` or `kernelDriver`.
    func usableMethod(at address: UInt8) throws(LinuxSensorsError) -> I2CMethod {
        try checkOwner(of: address)
        guard let method else {
            throw LinuxSensorsError(
                .insufficientAdapter(functionality), device: path, BusError(.unsupported, code: EOPNOTSUPP))
        }
        return method
    }
}
