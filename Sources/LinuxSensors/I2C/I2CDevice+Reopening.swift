internal import Glibc
package import IMUDrivers

/// A USB adapter may be unplugged and plugged in again. Its device file then disappears, open descriptors become
/// useless, and the adapter may come back with another number.
extension I2CDevice {
    /// How to find the chip on an adapter that was plugged in after the chip was opened.
    package struct Search: Sendable {
        /// The buses that existed at the start. The chip cannot have moved to one of those.
        let known: Set<String>
        let register: UInt8
        let identity: UInt8
        let places: I2CBus.Places

        /// Searches buses that appear from now on for the chip whose constant register `register` holds `identity`.
        package init(register: UInt8, identity: UInt8, in places: I2CBus.Places = I2CBus.Places()) {
            known = Set(I2CBus.all(in: places).map(\.path))
            self.register = register
            self.identity = identity
            self.places = places
        }
    }

    /// Closes the adapter and opens it again, or opens the adapter that the chip has moved to.
    ///
    /// The lock is on the adapter's descriptor, so it is acquired again before the first access to the chip, and another
    /// program may have come first. On the same bus the chip is not accessed. On another bus its identity is read, as in
    /// a scan.
    /// - Throws: why the original bus cannot be opened, or `busy` if the chip on it is in use.
    package mutating func reopen() throws(BusError) {
        do throws(LinuxSensorsError) {
            try adapter.open(path: path)
            try adapter.lock(address, attempts: .one)
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
        guard let search else { return false }
        for bus in I2CBus.all(in: search.places).map(\.path) {
            guard bus != path, bus == firstPath || !search.known.contains(bus) else { continue }
            do throws(LinuxSensorsError) {
                try adapter.open(path: bus)
                try adapter.lock(address, attempts: .one)
                let method = try adapter.usableMethod(at: address)
                guard isPresent(search) else {
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

    private borrowing func isPresent(_ search: Search) -> Bool {
        do throws(BusError) {
            return try adapter.readRegister(search.register, at: address) == search.identity
        } catch {
            return false
        }
    }
}
