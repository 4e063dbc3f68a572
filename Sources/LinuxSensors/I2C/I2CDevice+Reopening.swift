internal import Glibc
package import IMUDrivers

/// An adapter on USB may be pulled out and plugged in again: its device file goes, a descriptor that was open is of no use
/// any more, and the adapter that comes may have another number.
extension I2CDevice {
    /// How a chip is found on an adapter that was plugged in after the chip was opened.
    package struct Search: Sendable {
        /// The buses that there were already: the chip did not move to one of those.
        let known: Set<String>
        let register: UInt8
        let identity: UInt8
        let places: I2CBus.Places

        /// Looks for the chip of which a register, whose content never changes, holds `identity`, on buses that come from now
        /// on.
        package init(register: UInt8, identity: UInt8, in places: I2CBus.Places = I2CBus.Places()) {
            known = Set(I2CBus.all(in: places).map(\.path))
            self.register = register
            self.identity = identity
            self.places = places
        }
    }

    /// Closes the adapter and opens it again, or else the one that the chip is on now.
    ///
    /// Nothing is asked of a chip on the same bus; elsewhere its identity is read, as a scan does.
    /// - Throws: why the own bus cannot be had.
    package mutating func reopen() throws(BusError) {
        do throws(LinuxSensorsError) {
            try adapter.open(path: path)
            let method = try adapter.usableMethod(at: address)
            // What was learnt of an adapter's longest read holds as long as nothing says that it is another.
            if method != self.method { maximumReadLength = method.maximumReadLength }
            self.method = method
        } catch {
            // The kernel waits for this.
            adapter.close()
            guard error.busError.kind == .absent else { throw error.busError }
            // The same as descriptors from before say, so that it is told once.
            if !move() { throw BusError(.absent, code: ENODEV) }
        }
    }

    /// Takes the chip on the first of the new buses on which it answers; returns whether there is one.
    private mutating func move() -> Bool {
        guard let search else { return false }
        for bus in I2CBus.all(in: search.places).map(\.path) {
            guard bus != path, bus == firstPath || !search.known.contains(bus) else { continue }
            do throws(LinuxSensorsError) {
                let lock = try ChipLock(device: bus, address: address)
                try adapter.open(path: bus)
                let method = try adapter.usableMethod(at: address)
                guard isThere(search) else {
                    adapter.close()
                    continue
                }
                path = bus
                self.lock = consume lock
                self.method = method
                maximumReadLength = method.maximumReadLength
                return true
            } catch {
                // Not there, or somebody else's.
                adapter.close()
            }
        }
        return false
    }

    private borrowing func isThere(_ search: Search) -> Bool {
        do throws(BusError) {
            return try adapter.readRegister(search.register, at: address) == search.identity
        } catch {
            return false
        }
    }
}
