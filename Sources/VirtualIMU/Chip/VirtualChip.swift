package import IMUDrivers
package import MotionCore

/// A chip made of code as a `VirtualBus` sees it.
package protocol VirtualChip: Sendable {
    /// Reads `buffer.count` registers beginning with `register` at the instant `now`, in one transaction.
    ///
    /// - Throws: what a fault makes of it.
    func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)

    /// Writes one register at the instant `now`.
    ///
    /// - Throws: what a fault makes of it.
    func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError)
}
