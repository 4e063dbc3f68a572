internal import Glibc
internal import LinuxSystem
internal import MotionCore

/// The clock of a device's timestamps, and its conversion to `CLOCK_MONOTONIC`.
enum IIOClock: Equatable, Sendable {
    /// `CLOCK_MONOTONIC`, which needs no conversion.
    case monotonic
    /// `CLOCK_BOOTTIME`, which also counts while the system is suspended.
    case bootTime
    /// There are no timestamps.
    case none

    /// Switches a device's timestamps to the monotonic clock, or accepts one that can be converted.
    ///
    /// The kernel's default is the wall clock (industrialio-core.c). It cannot be converted, because it may be set
    /// while a program runs.
    /// - Throws: `wallClock`; `cannotWrite` if another clock is in force and this program may not change it.
    static func choose(on device: IIODevice, _ changes: inout IIOChanges) throws(IIOError) -> IIOClock {
        let attribute = "current_timestamp_clock"
        guard let current = device.text(attribute) else {
            throw IIOError(.cannotRead(attribute: attribute), device: device.title)
        }
        if let clock = IIOClock(current) { return clock }
        let taken: String
        do throws(SystemFailure) {
            taken = try changes.set("\(device.path)/\(attribute)", to: "monotonic")
        } catch {
            throw IIOError(.cannotWrite(attribute: attribute), device: device.title, error)
        }
        guard let clock = IIOClock(taken) else { throw IIOError(.wallClock(taken), device: device.title) }
        return clock
    }

    private init?(_ name: String) {
        switch name {
        case "monotonic": self = .monotonic
        case "boottime": self = .bootTime
        default: return nil
        }
    }

    /// The offset to add to this clock's time to get the monotonic time, ns (`clock_gettime`).
    func offset() -> Int64 {
        guard self == .bootTime else { return 0 }
        // Reads the monotonic clock before and after, and takes the mean to allow for delays in between.
        let before = IIOClock.now(CLOCK_MONOTONIC)
        let bootTime = IIOClock.now(CLOCK_BOOTTIME)
        let after = IIOClock.now(CLOCK_MONOTONIC)
        return before + (after - before) / 2 - bootTime
    }

    private static func now(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
