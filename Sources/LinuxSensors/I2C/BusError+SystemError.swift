internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

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
