internal import Glibc
package import IMUDrivers

/// The result of scanning an address.
package enum I2CPresence: Equatable, Sendable {
    /// A device acknowledges the address.
    case answers
    /// No device acknowledges the address.
    case silent
    /// A kernel driver is bound to the chip, so it was not accessed. The driver's name, if the system reports it.
    case kernelDriver(name: String?)
    /// A process holds the chip's lock, so the chip was not accessed.
    case inUse(by: ChipLock.Holder)
    /// The bus failed.
    case failed(BusError)
}

// For scans. Neither function writes data to a chip.
extension I2CAdapter {
    /// Whether a device answers at an address. The probe is a one-byte read, which is harmless to register-based chips.
    ///
    /// It writes no register number, because port expanders and bus switches would take it as data. Chips in use are
    /// not accessed: the byte could come out of a FIFO that a driver is reading.
    package func presence(at address: UInt8) -> I2CPresence {
        do throws(LinuxSensorsError) {
            try checkOwner(of: address)
        } catch {
            if case .kernelDriver(let name) = error.reason { return .kernelDriver(name: name) }
            return .failed(error.busError)
        }
        if let holder = holder(at: address) { return .inUse(by: holder) }
        do throws(BusError) {
            _ = functionality.contains(.transfers) ? try transferReceive(at: address) : try smbusReceive()
            return .answers
        } catch {
            return error.kind == .notAcknowledged ? .silent : .failed(error)
        }
    }

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
