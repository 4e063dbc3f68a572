package import IMUDrivers
package import MotionCore

/// A simulated chip as a `VirtualBus` sees it.
package protocol VirtualChip: Sendable {
    /// Reads `buffer.count` registers from `register` on at the instant `now`, in one transaction.
    ///
    /// - Throws: the error of a fault, if there is one.
    func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)

    /// Writes one register at the instant `now`.
    ///
    /// - Throws: the error of a fault, if there is one.
    func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError)
}
