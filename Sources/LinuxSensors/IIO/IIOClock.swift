internal import LinuxSystem
internal import MotionCore

/// The clock of a device's timestamps, and its conversion to `SystemClock`.
enum IIOClock: Equatable, Sendable {
    /// `CLOCK_BOOTTIME`, which needs no conversion.
    case bootTime
    /// `CLOCK_MONOTONIC`, which stands still while the system is suspended.
    case monotonic
    /// There are no timestamps.
    case none

    /// Switches a device's timestamps to the clock of all samples, or accepts one that can be converted.
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
            taken = try changes.set("\(device.path)/\(attribute)", to: "boottime")
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

    /// The offset to add to this clock's time to get that of `SystemClock`, ns.
    func offset() -> Int64 { self == .monotonic ? KernelClock.boot.offset(from: .monotonic) : 0 }
}
