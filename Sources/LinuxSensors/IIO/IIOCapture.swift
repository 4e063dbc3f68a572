internal import Glibc
package import IMUDrivers
internal import LinuxSystem

/// A device whose samples the kernel collects in a buffer. The buffer is on; `stop` or deallocation switches it off and
/// restores the device's settings.
///
/// To be used by one thread. Reading does not allocate.
package final class IIOCapture {
    /// The sample rate of the driver or the trigger, Hz; `nil` if unknown.
    package let rate: Double?

    /// Whether the samples carry timestamps.
    package var hasTime: Bool { frame.time != nil }

    /// Full scale, m/s² and rad/s; zero if the device does not measure the quantity.
    package var accelerometerRange: Double { frame.acceleration?.range ?? 0 }
    package var gyroscopeRange: Double { frame.rotationRate?.range ?? 0 }

    /// Valid bits of a gyroscope value, or of an accelerometer value if there is no gyroscope.
    package var resolution: Int { Int((frame.rotationRate ?? frame.acceleration)?.x.type.bits ?? 0) }

    /// Whether a frame holds a temperature.
    package var hasTemperature: Bool { frame.temperature != nil }

    /// Whether a frame holds a magnetic field.
    package var hasField: Bool { frame.field != nil }

    /// The trigger's name; `nil` if the driver needs none.
    package let trigger: String?

    private let frame: IIOFrame
    private let clock: IIOClock
    private var clockOffset: Int64
    private let setUp: IIOSetUp
    private let bytes: UnsafeMutableRawPointer
    /// Bytes read, and the bytes at the start that the last `read` returned.
    private var filled = 0
    private var taken = 0

    /// The most frames that one call reads.
    package static let capacity = 128

    /// If the offset between the samples' clock and ours changes by more than this, ns, a clock has jumped: the system
    /// was suspended.
    private static let clockTolerance: Int64 = 1_000_000

    private init(_ setUp: IIOSetUp, _ frame: IIOFrame, _ clock: IIOClock, _ trigger: IIOTrigger?, rate: Double?) {
        self.setUp = setUp
        self.frame = frame
        self.clock = clock
        clockOffset = clock.offset()
        self.trigger = trigger?.name
        self.rate = rate
        bytes = .allocate(byteCount: frame.length * IIOCapture.capacity, alignment: 8)
    }

    deinit {
        bytes.deallocate()
    }

    /// Configures a device and switches its buffer on; `nil` if it has no buffer, or no trigger to fill it.
    ///
    /// - Throws: `IIOError`; the device's settings are then restored.
    package static func open(
        _ device: IIODevice, _ settings: IMUSettings, in places: SystemPlaces = SystemPlaces()
    ) throws(IIOError) -> IIOCapture? {
        guard let elements = device.elementsDirectory, let buffer = device.bufferDirectory else { return nil }
        let setUp = try IIOSetUp.claim(device, in: places, needsFile: true)
        // No other program reads the device, so a killed one left the buffer on. Nothing can be set while it is.
        do {
            let enable = "\(device.path)/\(buffer)/enable"
            if SystemFiles.line(of: enable) == "1" { try IIOChanges.write(enable, "0") }
        } catch {
            throw IIOError(.cannotWrite(attribute: "\(buffer)/enable"), device: device.title, error)
        }
        setUp.clearNotedRate(before: settings.rate, elements: elements, buffer: buffer)
        var rate = try setUp.configure(settings)
        var trigger: IIOTrigger?
        if realPath("\(device.path)/trigger") != nil {
            trigger = try IIOTrigger.choose(for: setUp, rate: min(settings.rate, rate ?? settings.rate))
            guard let trigger else { return nil }
            rate = trigger.rate ?? rate
        }
        let frame = try setUp.selectChannels(
            in: elements, withField: settings.connectsMagnetometer && device.measuresField)
        let clock = frame.time == nil ? IIOClock.none : try IIOClock.choose(for: setUp)
        try setUp.setLength(in: buffer, rate: rate ?? settings.rate, settings)
        try setUp.set("\(buffer)/enable", to: "1")
        return IIOCapture(setUp, frame, clock, trigger, rate: rate)
    }

    /// Reads up to `limit` complete frames without waiting, and returns their number (`read`).
    ///
    /// Frames of the previous call become invalid.
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
    package func read(atMost limit: Int) throws(BusError) -> Int {
        if taken > 0 {
            let rest = filled - taken
            if rest > 0 { memmove(bytes, bytes + taken, rest) }
            filled = rest
            taken = 0
        }
        let wanted = min(limit, IIOCapture.capacity) * frame.length
        if filled < wanted {
            let offset = clock.offset()
            let hasStepped = abs(offset - clockOffset) > IIOCapture.clockTolerance
            clockOffset = offset
            var count: Int
            repeat { count = Glibc.read(setUp.file, bytes + filled, wanted - filled) } while count < 0 && errno == EINTR
            if count < 0 && errno != EAGAIN { throw .opening(SystemFailure(code: errno)) }
            // The kernel returns EAGAIN if there is nothing to read; an end of file means that the device is gone.
            if count == 0 { throw BusError(.absent, code: ENODEV) }
            filled += max(0, count)
            if hasStepped {
                // These frames may have been timestamped before or after the clock jumped.
                filled = 0
                return 0
            }
        }
        let frames = min(filled, wanted) / frame.length
        taken = frames * frame.length
        return frames
    }

    /// One of the frames of the last `read`.
    @inline(__always)
    package func reading(at index: Int) -> IIOReading {
        precondition(index >= 0 && (index + 1) * frame.length <= taken, "frame index out of range")
        return frame.reading(at: bytes + index * frame.length, clockOffset: clockOffset)
    }

    /// Switches the buffer off and restores the changed settings.
    ///
    /// - Throws: the kernel's error for the first setting that could not be restored.
    package func stop() throws(BusError) {
        try setUp.end()
    }
}

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
    static func choose(for setUp: IIOSetUp) throws(IIOError) -> IIOClock {
        let attribute = "current_timestamp_clock"
        guard let current = setUp.device.text(attribute) else {
            throw IIOError(.cannotRead(attribute: attribute), device: setUp.device.title)
        }
        if let clock = IIOClock(current) { return clock }
        let taken = try setUp.set(attribute, to: "boottime")
        guard let clock = IIOClock(taken) else { throw IIOError(.wallClock(taken), device: setUp.device.title) }
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

/// The trigger that makes a device take samples, for drivers that need one (Documentation/driver-api/iio/triggers.rst).
struct IIOTrigger: Equatable, Sendable {
    /// Its name, as written to `current_trigger`.
    var name: String
    /// Its directory in sysfs.
    var path: String
    /// Whether it fires at a configurable rate, rather than when the chip has a sample.
    var isTimer: Bool

    /// All triggers, in the order of their numbers.
    static func all(in places: SystemPlaces) -> [IIOTrigger] {
        let directory = "\(places.system)/bus/iio/devices"
        return SystemFiles.numbers(in: directory, after: "trigger")
            .compactMap { number in
                guard let path = realPath("\(directory)/trigger\(number)"),
                    let name = SystemFiles.line(of: "\(path)/name")
                else { return nil }
                return IIOTrigger(
                    name: name, path: path, isTimer: SystemFiles.line(of: "\(path)/sampling_frequency") != nil)
            }
    }

    /// Assigns a trigger that fires at `rate` or when the chip has a sample; `nil` if none is available.
    ///
    /// A trigger that is already assigned stays, because its driver or a user chose it. Otherwise the order of
    /// preference is: the device's own data-ready trigger, a timer that no other device uses, a newly created timer (if
    /// permitted).
    static func choose(for setUp: IIOSetUp, rate: Double) throws(IIOError) -> IIOTrigger? {
        let (device, places) = (setUp.device, setUp.places)
        let attribute = "trigger/current_trigger"
        let triggers = all(in: places)
        if let current = device.text(attribute) {
            return triggers.first { $0.name == current } ?? IIOTrigger(name: current, path: "", isTimer: false)
        }
        let own = device.name.map { ["\($0)-dev\(device.number)", "\($0)-trigger"] } ?? []
        var choice = triggers.first { own.contains($0.name) }
        if choice == nil {
            let taken = IIODevice.all(in: places).filter { $0.path != device.path }.compactMap { $0.text(attribute) }
            choice = triggers.first { $0.isTimer && !taken.contains($0.name) } ?? makeTimer(for: setUp)
        }
        guard let choice else { return nil }
        if choice.isTimer {
            try setUp.set(
                "sampling_frequency of trigger \(choice.name)", at: "\(choice.path)/sampling_frequency",
                to: IIOAvailable.text(rate))
        }
        let found = try setUp.set(attribute, to: choice.name)
        // The kernel accepts any name without an error.
        guard found == choice.name else {
            throw IIOError(.notKept(attribute: attribute, value: choice.name, found: found), device: device.title)
        }
        return choice
    }

    /// The rate of a timer, Hz; `nil` for other triggers.
    var rate: Double? {
        isTimer ? SystemFiles.line(of: "\(path)/sampling_frequency").flatMap { Double($0) } : nil
    }

    /// Creates a timer in configfs (iio-trig-hrtimer); `nil` without the kernel module or the permission.
    private static func makeTimer(for setUp: IIOSetUp) -> IIOTrigger? {
        let name = "jostle-\(setUp.device.number)"
        do {
            try setUp.makeDirectory("\(setUp.places.system)/kernel/config/iio/triggers/hrtimer/\(name)")
        } catch {
            return nil
        }
        return all(in: setUp.places).first { $0.name == name && $0.isTimer }
    }
}
