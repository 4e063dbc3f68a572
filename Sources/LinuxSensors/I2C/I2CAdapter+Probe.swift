internal import Glibc
package import IMUDrivers

/// What a scan finds at an address.
package enum I2CPresence: Equatable, Sendable {
    /// Something acknowledges the address.
    case answers
    /// Nothing does.
    case silent
    /// A kernel driver is bound to the chip, which therefore was not disturbed; its name where the system tells.
    case kernelDriver(name: String?)
    /// A process holds the chip's lock, which therefore was not disturbed.
    case inUse(by: ChipLock.Holder)
    /// The bus could not tell.
    case failed(BusError)
}

// For scanners. Neither function writes data to a chip.
extension I2CAdapter {
    /// Whether something answers at an address: a read of one byte, which no register-based chip is harmed by.
    ///
    /// It names no register, as that first byte is already data to a port expander or a bus switch. Chips that somebody
    /// uses are left alone: a byte read from behind a driver's back may be one of its FIFO.
    package func presence(at address: UInt8) -> I2CPresence {
        do throws(LinuxSensorsError) {
            try checkOwner(of: address)
        } catch {
            if case .kernelDriver(let name) = error.reason { return .kernelDriver(name: name) }
            return .failed(error.busError)
        }
        if let holder = ChipLock.holder(device: path, address: address) { return .inUse(by: holder) }
        do throws(BusError) {
            _ = functionality.contains(.transfers) ? try transferReceive(at: address) : try smbusReceive()
            return .answers
        } catch {
            return error.kind == .notAcknowledged ? .silent : .failed(error)
        }
    }

    /// Reads one register of the chip at an address: whose it is, where its maker put an identity there.
    ///
    /// The caller takes care that it is a register which reading does not change, and that a chip with registers may be
    /// expected at the address.
    ///
    /// - Throws: what the bus answered; `busy` where a kernel driver is bound to the chip.
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

    /// Makes sure that a chip may have this address and that no kernel driver is bound to it, and selects it.
    func checkOwner(of address: UInt8) throws(LinuxSensorsError) {
        // The rest is reserved for other uses of the bus (UM10204, table 3).
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
