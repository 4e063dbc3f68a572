internal import Glibc
package import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// A device whose samples the kernel collects in a buffer, switched on. Off again, and as it was, after `stop`, or where
/// it goes out of scope.
///
/// One thread uses it. Reading allocates nothing.
package final class IIOCapture {
    /// The device that is read.
    package let device: IIODevice

    /// Samples a second as the driver or the trigger has it, Hz; `nil` where nobody tells.
    package let rate: Double?

    /// Whether the samples say when they were measured.
    package var hasTime: Bool { frame.time != nil }

    /// Full scale, m/s² and rad/s; zero where the device does not measure it.
    package var accelerometerRange: Double { frame.acceleration?.range ?? 0 }
    package var gyroscopeRange: Double { frame.rotationRate?.range ?? 0 }

    /// Valid bits of a value of the gyroscope, or else of the accelerometer.
    package var resolution: Int { Int((frame.rotationRate ?? frame.acceleration)?.x.type.bits ?? 0) }

    /// Whether a frame holds a temperature.
    package var hasTemperature: Bool { frame.temperature != nil }

    /// The trigger's name; `nil` where the driver needs none.
    package let trigger: String?

    private let frame: IIOFrame
    private let clock: IIOClock
    private var clockOffset: Int64
    private var changes: IIOChanges
    private var descriptor: Int32
    private let bytes: UnsafeMutableRawPointer
    /// Bytes read, and those that `reading(at:)` counts from.
    private var filled = 0
    private var taken = 0

    /// The most frames that one call reads.
    package static let capacity = 128

    /// A clock of the samples that moved by more against ours was changed, ns: the system slept.
    private static let clockTolerance: Int64 = 1_000_000

    private init(
        _ setUp: IIOSetUp, _ frame: IIOFrame, _ clock: IIOClock, _ trigger: IIOTrigger?, rate: Double?,
        descriptor: Int32
    ) {
        device = setUp.device
        changes = setUp.changes
        self.frame = frame
        self.clock = clock
        clockOffset = clock.offset()
        self.trigger = trigger?.name
        self.rate = rate
        self.descriptor = descriptor
        bytes = .allocate(byteCount: frame.length * IIOCapture.capacity, alignment: 8)
    }

    deinit {
        changes.undo()
        if descriptor >= 0 { close(descriptor) }
        bytes.deallocate()
    }

    /// Configures a device and switches its buffer on; `nil` where it has none, or no trigger to fill it.
    ///
    /// - Throws: `IIOError`; the device is then as it was.
    package static func open(
        _ device: IIODevice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()
    ) throws(IIOError) -> IIOCapture? {
        var setUp = IIOSetUp(device, in: places)
        guard let elements = setUp.elementsDirectory, let buffer = setUp.bufferDirectory else { return nil }
        // First, since the kernel lets one program only have it open: whoever it is keeps its settings.
        let path = "\(places.devices)/\(device.identifier)"
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw IIOError(.cannotOpen, device: device.title, SystemFailure(code: errno))
        }
        do throws(IIOError) {
            let capture = try switchOn(&setUp, settings, elements: elements, buffer: buffer, descriptor)
            if capture == nil {
                setUp.changes.undo()
                close(descriptor)
            }
            return capture
        } catch {
            setUp.changes.undo()
            close(descriptor)
            throw error
        }
    }

    private static func switchOn(
        _ setUp: inout IIOSetUp, _ settings: IMUSettings, elements: String, buffer: String, _ descriptor: Int32
    ) throws(IIOError) -> IIOCapture? {
        // Nobody reads it: somebody who was killed left it on, and nothing can be set while it is.
        do throws(SystemFailure) {
            let enable = "\(setUp.device.path)/\(buffer)/enable"
            if SystemFiles.line(of: enable) == "1" { try IIOChanges.write(enable, "0") }
        } catch {
            throw IIOError(.cannotWrite(attribute: "\(buffer)/enable"), device: setUp.device.title, error)
        }
        var rate = try setUp.configure(settings)
        var trigger: IIOTrigger?
        if SystemFiles.resolved("\(setUp.device.path)/trigger") != nil {
            trigger = try IIOTrigger.choose(
                for: setUp.device, rate: min(settings.rate, rate ?? settings.rate), in: setUp.places, &setUp.changes)
            guard let trigger else { return nil }
            rate = trigger.rate ?? rate
        }
        let frame = try setUp.selectChannels(in: elements)
        let clock = frame.time == nil ? IIOClock.none : try IIOClock.choose(on: setUp.device, &setUp.changes)
        try setUp.setLength(in: buffer, rate: rate ?? settings.rate, settings)
        try setUp.set("\(buffer)/enable", to: "1")
        return IIOCapture(setUp, frame, clock, trigger, rate: rate, descriptor: descriptor)
    }

    /// Reads up to `limit` frames that are complete, without waiting; returns how many (`read`).
    ///
    /// Those of the call before are gone.
    /// - Throws: `absent` where the driver was unbound or the chip unplugged, or what the kernel answered.
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
            repeat { count = Glibc.read(descriptor, bytes + filled, wanted - filled) } while count < 0 && errno == EINTR
            if count < 0 && errno != EAGAIN { throw .opening(SystemFailure(code: errno)) }
            // The kernel says "not now" where there is nothing; an end is one.
            if count == 0 { throw BusError(.absent, code: ENODEV) }
            filled += max(0, count)
            if hasStepped {
                // Nobody can say whether these were measured before the clocks parted or after.
                filled = 0
                return 0
            }
        }
        let frames = min(filled, wanted) / frame.length
        taken = frames * frame.length
        return frames
    }

    /// One of the frames that the last `read` returned.
    @inline(__always)
    package func reading(at index: Int) -> IIOReading {
        precondition(index >= 0 && (index + 1) * frame.length <= taken, "frame index out of range")
        return frame.reading(at: bytes + index * frame.length, clockOffset: clockOffset)
    }

    /// Switches the buffer off and puts back what was changed.
    ///
    /// - Throws: what the kernel answered to the first change that could not be put back.
    package func stop() throws(BusError) {
        let failure = changes.undo()
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        if let failure { throw .opening(failure) }
    }
}
