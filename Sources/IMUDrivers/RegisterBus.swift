/// A chip with 8-bit register addresses, as a driver sees it: every call is one bus transaction.
///
/// A driver owns its bus by value. An implementation retries nothing: the driver knows which transaction may be
/// repeated.
package protocol RegisterBus: ~Copyable {
    /// The longest `read` that one transaction of this bus carries, in bytes.
    var maximumReadLength: Int { get }

    /// Reads `buffer.count` bytes, beginning at `register`, in one write-then-read transaction.
    ///
    /// - Throws: what the bus answered instead; the buffer's content is then undefined.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError)

    /// Writes one byte to `register`.
    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError)

    /// Gets the way to the chip anew, where there is one that can be lost: an adapter that was pulled out and plugged in again.
    ///
    /// A driver calls it before each new attempt to bring up a chip that it has lost. By default there is nothing to get.
    /// - Throws: why there is no way now, `absent` where the adapter has not come back.
    mutating func reopen() throws(BusError)
}

extension RegisterBus where Self: ~Copyable {
    package mutating func reopen() throws(BusError) {}

    /// Reads one register.
    package mutating func read(_ register: UInt8) throws(BusError) -> UInt8 {
        var value: UInt8 = 0
        var failure: BusError?
        withUnsafeMutableBytes(of: &value) { buffer in
            do throws(BusError) {
                try read(register, into: buffer)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return value
    }
}

/// Why a bus transaction failed.
public struct BusError: Error, Equatable, Sendable, BitwiseCopyable {
    /// What it means for a driver.
    public enum Kind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
        /// Nobody answered at the address (ENXIO, EREMOTEIO).
        case notAcknowledged
        /// Another master won the bus (EAGAIN).
        case arbitrationLost
        /// The bus is held low, or the adapter gave up waiting (ETIMEDOUT).
        case timedOut
        /// The adapter failed in another way (EIO, EPROTO, …).
        case inputOutput
        /// Somebody else owns the chip: a kernel driver (EBUSY) or another process.
        case busy
        /// This user may not open the adapter (EACCES, EPERM).
        case accessDenied
        /// There is no such adapter, or it was unplugged (ENOENT, ENODEV).
        case absent
        /// The adapter cannot carry such a transaction (EOPNOTSUPP, EINVAL, ENOTTY).
        case unsupported
        /// Something else; see `code`.
        case other
    }

    public var kind: Kind

    /// The system's errno, 0 where there is none.
    public var code: Int32

    /// Makes an error of its kind and the errno behind it.
    @inlinable
    public init(_ kind: Kind, code: Int32 = 0) {
        self.kind = kind
        self.code = code
    }
}
