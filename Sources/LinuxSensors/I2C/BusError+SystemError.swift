internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

extension BusError {
    /// What the failure of a transaction means (Linux, Documentation/i2c/fault-codes.rst).
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

    /// What the failure to open an adapter means: as of a transaction, but nobody was addressed yet.
    static func opening(_ failure: SystemFailure) -> BusError {
        failure.code == ENXIO ? BusError(.absent, code: failure.code) : transaction(failure)
    }
}

/// How often a call that a signal interrupted is made again.
///
/// One suffices in practice, as a thread that reads a chip should have its signals blocked; the bound keeps an adapter's
/// driver that always answers EINTR from holding the thread for ever.
private let interruptionLimit = 8

/// Makes a system call that answers -errno, again where a signal interrupted it.
///
/// Some adapters' drivers abandon a transfer that had begun. A register can be read or written again; bytes of a FIFO
/// may be lost by it, which the chip's driver sees as frames that do not add up.
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
