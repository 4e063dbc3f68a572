/// A chip with 8-bit register addresses, as a driver sees it. Every call is one bus transaction.
///
/// A driver owns its bus by value. An implementation must not retry: only the driver knows which transactions may be
/// repeated.
package protocol RegisterBus: ~Copyable {
    /// The longest `read` that one transaction can carry, bytes.
    var maximumReadLength: Int { get }

    /// Reads `buffer.count` bytes, starting at `register`, in one write-then-read transaction.
    ///
    /// - Throws: the bus error; the buffer's content is then undefined.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError)

    /// Reads from two registers, one after the other, in one transaction. The default implementation cannot.
    ///
    /// - Returns: `false` if the bus carries no such transaction; nothing was sent then.
    /// - Throws: the bus error; the content of the buffers is then undefined.
    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, then second: UInt8,
        into secondBuffer: UnsafeMutableRawBufferPointer
    ) throws(BusError) -> Bool

    /// Writes one byte to `register`.
    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError)

    /// Reopens a connection that can be lost, such as an adapter that was unplugged and plugged in again.
    ///
    /// A driver calls it before each attempt to bring up a lost chip. The default implementation does nothing.
    /// - Throws: why the chip cannot be reached; `absent` if the adapter has not come back.
    mutating func reopen() throws(BusError)
}

extension RegisterBus where Self: ~Copyable {
    package mutating func reopen() throws(BusError) {}

    package mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, then second: UInt8,
        into secondBuffer: UnsafeMutableRawBufferPointer
    ) throws(BusError) -> Bool { false }

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
    /// The kind of failure, which decides how a driver reacts.
    public enum Kind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
        /// No device acknowledged the address (ENXIO, EREMOTEIO).
        case notAcknowledged
        /// Another master won the bus (EAGAIN).
        case arbitrationLost
        /// The bus is held low, or the adapter gave up waiting (ETIMEDOUT).
        case timedOut
        /// The adapter failed in another way (EIO, EPROTO, …).
        case inputOutput
        /// The chip is in use by a kernel driver (EBUSY) or another process.
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

    /// The system's errno; 0 if there is none.
    public var code: Int32

    /// Creates an error from its kind and the underlying errno.
    @inlinable
    public init(_ kind: Kind, code: Int32 = 0) {
        self.kind = kind
        self.code = code
    }
}

extension BusError {
    /// Whether a read that failed so has taken nothing from the chip.
    var hasConsumedNothing: Bool { kind == .notAcknowledged || kind == .arbitrationLost }
}
