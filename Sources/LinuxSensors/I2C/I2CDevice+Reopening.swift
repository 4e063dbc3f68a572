internal import Glibc
package import IMUDrivers

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
        let places: I2CBus.Places

        /// Searches for the chip whose constant register `register` holds `identity`: on its bus at `addresses`, and if it
        /// `mayMove` on buses that appear from now on.
        package init(
            register: UInt8, identity: UInt8, mayMove: Bool = true, addresses: [UInt8] = [],
            in places: I2CBus.Places = I2CBus.Places()
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
        do throws(LinuxSensorsError) {
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
        for bus in I2CBus.all(in: search.places).map(\.path) {
            guard bus != path, bus == firstPath || !known.contains(bus) else { continue }
            do throws(LinuxSensorsError) {
                try adapter.open(path: bus)
                try adapter.lock(address, attempts: .one)
                let method = try adapter.usableMethod(at: address)
                guard isPresent(search, at: address) else {
                    adapter.close()
                    continue
                }
                path = bus
                self.method = method
                maximumReadLength = method.maximumReadLength
                return true
            } catch {
                // The chip is not there, or another program uses it.
                adapter.close()
            }
        }
        return false
    }

    /// Locks the chip where it is: at its address, or at another one if it answers there alone.
    private mutating func lockAddress() throws(LinuxSensorsError) {
        try adapter.lock(address, attempts: .one)
        let others = search?.addresses.filter { $0 != address } ?? []
        guard let search, !others.isEmpty, !isPresent(search, at: address) else { return }
        for other in others {
            do throws(LinuxSensorsError) {
                // Opened anew, so that it holds one lock.
                try adapter.open(path: path)
                try adapter.lock(other, attempts: .one)
                guard isPresent(search, at: other) else { continue }
                address = other
                return
            } catch {
                // Another program uses it.
            }
        }
        try adapter.open(path: path)
        try adapter.lock(address, attempts: .one)
    }

    private borrowing func isPresent(_ search: Search, at address: UInt8) -> Bool {
        do throws(BusError) {
            return try adapter.readRegister(search.register, at: address) == search.identity
        } catch {
            return false
        }
    }
}
