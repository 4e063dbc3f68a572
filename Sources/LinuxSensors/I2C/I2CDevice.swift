internal import Glibc
package import IMUDrivers

/// One chip on an I2C adapter of this machine, as the register bus that its driver owns.
///
/// It has the adapter's descriptor to itself, and the chip's lock where it took one. Transactions of other processes to
/// other chips go between its own.
package struct I2CDevice: RegisterBus, ~Copyable {
    var adapter: I2CAdapter
    var lock: ChipLock?
    var method: I2CMethod
    /// The device file of the chip's bus, also while that is gone, and the first one there was.
    var path: String
    let firstPath: String
    /// Where the chip is looked for beside its own bus, once that is gone.
    let search: Search?

    /// The chip's address.
    package let address: UInt8

    /// The longest read of one transaction, bytes: 8192, or 32 or 1 through an adapter that knows only SMBus.
    ///
    /// It falls to 32 where an adapter refuses a longer read: some on USB do, and no ioctl tells.
    package internal(set) var maximumReadLength: Int

    /// Opens the adapter, locks the chip and makes sure that no kernel driver is bound to it; nothing is sent yet.
    ///
    /// With a `search` the chip is looked for on other buses, too, when its adapter is gone.
    /// - Throws: what stands in the way, with the name of who has the chip.
    package init(path: String, address: UInt8, search: Search? = nil) throws(LinuxSensorsError) {
        let adapter = try I2CAdapter(path: path)
        let lock = try ChipLock(device: path, address: address)
        try self.init(adapter: adapter, address: address, lock: lock, search: search)
    }

    /// Addresses a chip on an adapter that is open already, holding `lock` as long.
    ///
    /// - Throws: `invalidAddress`, `insufficientAdapter` or `kernelDriver`.
    package init(
        adapter: consuming I2CAdapter, address: UInt8, lock: consuming ChipLock?, search: Search? = nil
    ) throws(LinuxSensorsError) {
        let method = try adapter.usableMethod(at: address)
        self.init(adapter, address, method, lock, search)
    }

    /// All that throws comes before it: Swift 6.0.3 crashes on an initialiser that throws where properties have values already.
    private init(
        _ adapter: consuming I2CAdapter, _ address: UInt8, _ method: I2CMethod, _ lock: consuming ChipLock?,
        _ search: Search?
    ) {
        path = adapter.path
        firstPath = adapter.path
        self.adapter = adapter
        self.lock = lock
        self.method = method
        self.search = search
        self.address = address
        maximumReadLength = method.maximumReadLength
    }

    /// Reads `buffer.count` bytes, beginning at `register`, in one transaction; none where the buffer is empty.
    ///
    /// - Throws: what the kernel answered; `unsupported` for more than `maximumReadLength` bytes, `absent` while the adapter
    ///   is gone.
    package mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        guard let destination = buffer.baseAddress, !buffer.isEmpty else { return }
        guard adapter.descriptor >= 0 else { throw BusError(.absent, code: ENODEV) }
        // libi2c would silently read 32 bytes instead.
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
    /// - Throws: what the kernel answered; `absent` while the adapter is gone.
    package mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        guard adapter.descriptor >= 0 else { throw BusError(.absent, code: ENODEV) }
        switch method {
        case .transfers: try adapter.transferWrite(register, value, at: address)
        case .smbusBlocks, .smbusBytes: try adapter.smbusWriteByte(register, value)
        }
    }
}

extension I2CAdapter {
    /// How the registers of the chip at an address are reached, which no kernel driver may have; selects it.
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
