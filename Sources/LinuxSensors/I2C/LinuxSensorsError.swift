internal import Glibc
public import IMUDrivers
internal import LinuxSystem

/// Why a chip on a bus of this machine cannot be used, with advice for the user.
public struct LinuxSensorsError: Error, Equatable, Sendable {
    /// The cause.
    package enum Reason: Equatable, Sendable {
        /// The device file cannot be opened.
        case cannotOpen
        /// The file is not an I2C adapter.
        case notAnAdapter
        /// The adapter can neither transfer messages nor read registers.
        case insufficientAdapter(I2CFunctionality)
        /// The adapter reads registers one by one only, and the FIFO of a chip is read in frames.
        case singleBytes(I2CFunctionality)
        /// The address is outside the range for chips, 0x08 to 0x77.
        case invalidAddress
        /// A kernel driver is bound to the chip; its name, if the system reports it.
        case kernelDriver(name: String?)
        /// Another process holds Jostle's lock on the chip.
        case inUse(by: ChipLock.Holder)
        /// The lock could not be requested.
        case cannotLock
    }

    /// The cause.
    package var reason: Reason

    /// The adapter's device file.
    public var device: String

    /// The chip's address, if the error concerns a chip.
    public var address: UInt8?

    /// The corresponding driver-level error, with the underlying errno.
    public var busError: BusError

    init(_ reason: Reason, device: String, address: UInt8? = nil, _ busError: BusError) {
        self.reason = reason
        self.device = device
        self.address = address
        self.busError = busError
    }
}

extension LinuxSensorsError: CustomStringConvertible {
    /// One sentence that states the problem, without advice.
    public var description: String {
        let place = address.map { "\(device), address \(Self.hexadecimal($0))" } ?? device
        return "\(place): \(shortDescription)"
    }

    /// The same without the device and address.
    public var shortDescription: String {
        switch reason {
        case .cannotOpen: return "cannot be opened: \(systemMessage(busError.code))"
        case .notAnAdapter: return "not an I2C adapter: \(systemMessage(busError.code))"
        case .insufficientAdapter(let functionality):
            let mask = String(functionality.rawValue, radix: 16)
            return "the adapter cannot read registers (functionality 0x\(mask))"
        case .singleBytes(let functionality):
            let mask = String(functionality.rawValue, radix: 16)
            return "the adapter reads single bytes only (functionality 0x\(mask)); a chip's samples are read in blocks"
        case .invalidAddress: return "not a valid chip address"
        case .kernelDriver(let name): return "the kernel driver \(name ?? "of the chip") owns it"
        case .inUse(let holder): return "\(holder) uses it"
        case .cannotLock: return "cannot be locked: \(systemMessage(busError.code))"
        }
    }

    /// What to do about it; `nil` if there is no advice.
    public var advice: String? { advice(in: .library) }

    /// The advice in the words of its reader.
    package func advice(in vocabulary: SensorVocabulary) -> String? {
        switch reason {
        case .cannotOpen where busError.kind == .accessDenied:
            return "add the user to group i2c: sudo usermod -aG i2c $USER, then log in again"
        case .cannotOpen where busError.kind == .absent:
            // If there are buses, a mistyped path is the most likely cause.
            let buses = I2CBus.all().map(\.path).joined(separator: ", ")
            return """
                \(buses.isEmpty ? "" : "there are \(buses); if it is none of them, ")enable I2C: \
                sudo raspi-config nonint do_i2c 0 (or dtparam=i2c_arm=on in /boot/firmware/config.txt and a restart), then \
                sudo modprobe i2c-dev
                """
        case .notAnAdapter:
            return "name one of /dev/i2c-*"
        case .insufficientAdapter, .singleBytes:
            return "connect the chip to another bus"
        case .invalidAddress:
            return "use an address from 0x08 to 0x77; an MPU-6050 has 0x68, or 0x69 with AD0 high"
        case .kernelDriver(let name):
            let module = name ?? "the driver"
            return
                "read the chip through it (\(vocabulary.kernelDriver)), or remove its device tree overlay, or unbind \(module)"
        case .inUse(let holder):
            return holder.advice(in: vocabulary)
        case .cannotOpen, .cannotLock:
            return nil
        }
    }

    private static func hexadecimal(_ address: UInt8) -> String {
        (address < 0x10 ? "0x0" : "0x") + String(address, radix: 16)
    }
}

extension ChipLock.Holder {
    /// How to stop it.
    func advice(in vocabulary: SensorVocabulary) -> String {
        guard let processIdentifier else { return "stop the process that uses it" }
        let service = vocabulary.stopAgent.map { ", or if it is the service, \($0)" } ?? ""
        return "stop it: kill \(processIdentifier)\(service)"
    }
}

extension BusError {
    /// Classifies the failure of a transaction (Linux, Documentation/i2c/fault-codes.rst).
    static func transaction(_ failure: SystemFailure) -> BusError {
        let kind: Kind
        switch failure.code {
        case ENXIO, EREMOTEIO: kind = .notAcknowledged
        case EAGAIN: kind = .arbitrationLost
        case ETIMEDOUT: kind = .timedOut
        case EIO, EPROTO, EBADMSG, EOVERFLOW, EILSEQ: kind = .inputOutput
        case EBUSY: kind = .busy
        case EACCES, EPERM: kind = .accessDenied
        case ENOENT, ENODEV: kind = .absent
        case EOPNOTSUPP, EINVAL, ENOTTY: kind = .unsupported
        default: kind = .other
        }
        return BusError(kind, code: failure.code)
    }

    /// Classifies a failure to open an adapter: as for a transaction, except that no chip was addressed.
    static func opening(_ failure: SystemFailure) -> BusError {
        failure.code == ENXIO ? BusError(.absent, code: failure.code) : transaction(failure)
    }
}

/// How often an interrupted call is repeated.
///
/// One repetition suffices in practice, because a thread that reads a chip should have its signals blocked. The limit
/// protects the thread from an adapter driver that always returns EINTR.
private let interruptionLimit = 8

/// Performs a system call that returns -errno, and repeats it if a signal interrupted it.
///
/// Some adapter drivers abandon a transfer in progress. Register reads and writes can be repeated; bytes of a FIFO may
/// be lost, which the chip's driver detects as invalid frames.
@inline(__always)
func uninterrupted(_ call: () -> Int32) -> Int32 {
    var answer = call()
    var repetitions = 0
    while answer == -EINTR && repetitions < interruptionLimit {
        answer = call()
        repetitions += 1
    }
    return answer
}
