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
            do {
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

    /// Reads from two registers in one transfer of four messages.
    ///
    /// The Raspberry Pi's BCM2835 refuses such a transfer, as do adapters that emulate transfers with a protocol of their own.
    package mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, then second: UInt8,
        into secondBuffer: UnsafeMutableRawBufferPointer
    ) throws(BusError) -> Bool {
        guard method == .transfers, let first = buffer.baseAddress, let last = secondBuffer.baseAddress,
            adapter.descriptor >= 0, max(buffer.count, secondBuffer.count) <= maximumReadLength
        else { return false }
        do {
            try adapter.transferRead(
                register, into: first, count: buffer.count, then: second, into: last, count: secondBuffer.count,
                at: address)
            return true
        } catch {
            guard error.kind == .unsupported else { throw error }
            return false
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

/// A USB adapter may be unplugged and plugged in again. Its device file then disappears, open descriptors become
/// useless, and the adapter may come back with another number. A chip whose address pin floats may change its address.
extension I2CDevice {
    /// How to find the chip at another address, and on an adapter that was plugged in after the chip was opened.
    package struct Search: Sendable {
        /// The buses that existed at the start. The chip cannot have moved to one of those. `nil` if it stays on its bus.
        let known: Set<String>?
        /// The addresses that it can have on its bus.
        let addresses: [UInt8]
        let register: UInt8
        let identity: UInt8
        let places: SystemPlaces

        /// Searches for the chip whose constant register `register` holds `identity`: on its bus at `addresses`, and if it
        /// `mayMove` on buses that appear from now on.
        package init(
            register: UInt8, identity: UInt8, mayMove: Bool = true, addresses: [UInt8] = [],
            in places: SystemPlaces = SystemPlaces()
        ) {
            known = mayMove ? Set(I2CBus.all(in: places).map(\.path)) : nil
            self.addresses = addresses
            self.register = register
            self.identity = identity
            self.places = places
        }
    }

    /// Closes the adapter and opens it again, or opens the adapter that the chip has moved to.
    ///
    /// The lock is on the adapter's descriptor, so it is acquired again before the first access to the chip, and another
    /// program may have come first. Its identity is read, as in a scan, where it may have moved.
    /// - Throws: why the original bus cannot be opened, or `busy` if the chip on it is in use.
    package mutating func reopen() throws(BusError) {
        do {
            try adapter.open(path: path)
            try lockAddress()
            let method = try adapter.usableMethod(at: address)
            // A longest read learnt from a refusal stays valid unless the adapter has changed.
            if method != self.method { maximumReadLength = method.maximumReadLength }
            self.method = method
        } catch {
            // The kernel waits for the descriptor to be closed.
            adapter.close()
            guard error.busError.kind == .absent else { throw error.busError }
            // The same error as stale descriptors return, so that the failure is reported once.
            if !move() { throw BusError(.absent, code: ENODEV) }
        }
    }

    /// Switches to the first new bus on which the chip answers. Returns whether there is one.
    private mutating func move() -> Bool {
        guard let search, let known = search.known else { return false }
        for bus in I2CBus.all(in: search.places).map(\.path) where bus != path {
            guard bus == firstPath || !known.contains(bus), find(search, at: address, on: bus),
                let method = adapter.method
            else { continue }
            path = bus
            self.method = method
            maximumReadLength = method.maximumReadLength
            return true
        }
        adapter.close()
        return false
    }

    /// Locks the chip where it is: at its address, or at another one if it answers there alone.
    private mutating func lockAddress() throws(LinuxSensorsError) {
        try adapter.lock(address, attempts: .one)
        let others = search?.addresses.filter { $0 != address } ?? []
        guard let search, !others.isEmpty, !isPresent(search, at: address) else { return }
        for other in others where find(search, at: other, on: path) {
            address = other
            return
        }
        try adapter.open(path: path)
        try adapter.lock(address, attempts: .one)
    }

    /// Opens a bus anew, so that it holds one lock, and locks an address. Returns whether the chip answers there; `false` if
    /// another program uses it.
    private mutating func find(_ search: Search, at address: UInt8, on bus: String) -> Bool {
        do {
            try adapter.open(path: bus)
            try adapter.lock(address, attempts: .one)
            _ = try adapter.usableMethod(at: address)
            return isPresent(search, at: address)
        } catch {
            return false
        }
    }

    private borrowing func isPresent(_ search: Search, at address: UInt8) -> Bool {
        do {
            return try adapter.readRegister(search.register, at: address) == search.identity
        } catch {
            return false
        }
    }
}
