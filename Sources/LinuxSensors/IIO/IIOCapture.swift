internal import Glibc
package import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// A device whose samples the kernel collects in a buffer. The buffer is on; `stop` or deallocation switches it off and
/// restores the device's settings.
///
/// To be used by one thread. Reading does not allocate.
package final class IIOCapture {
    /// The device that is read.
    package let device: IIODevice

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
    private var changes: IIOChanges
    private let claim: IIOClaim
    private let bytes: UnsafeMutableRawPointer
    /// Bytes read, and the bytes at the start that the last `read` returned.
    private var filled = 0
    private var taken = 0

    /// The most frames that one call reads.
    package static let capacity = 128

    /// If the offset between the samples' clock and ours changes by more than this, ns, a clock has jumped: the system
    /// was suspended.
    private static let clockTolerance: Int64 = 1_000_000

    private init(
        _ setUp: IIOSetUp, _ frame: IIOFrame, _ clock: IIOClock, _ trigger: IIOTrigger?, rate: Double?,
        _ claim: IIOClaim
    ) {
        device = setUp.device
        changes = setUp.changes
        self.frame = frame
        self.clock = clock
        clockOffset = clock.offset()
        self.trigger = trigger?.name
        self.rate = rate
        self.claim = claim
        bytes = .allocate(byteCount: frame.length * IIOCapture.capacity, alignment: 8)
    }

    deinit {
        changes.undo()
        claim.end()
        bytes.deallocate()
    }

    /// Configures a device and switches its buffer on; `nil` if it has no buffer, or no trigger to fill it.
    ///
    /// - Throws: `IIOError`; the device's settings are then restored.
    package static func open(
        _ device: IIODevice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()
    ) throws(IIOError) -> IIOCapture? {
        var setUp = IIOSetUp(device, in: places)
        guard let elements = setUp.elementsDirectory, let buffer = setUp.bufferDirectory else { return nil }
        // First, because another program's settings must not be changed.
        let claim = try IIOClaim.make(device, in: places, needsFile: true)
        do throws(IIOError) {
            let capture = try switchOn(&setUp, settings, elements: elements, buffer: buffer, claim)
            if capture == nil {
                setUp.changes.undo()
                claim.end()
            }
            return capture
        } catch {
            setUp.changes.undo()
            claim.end()
            throw error
        }
    }

    private static func switchOn(
        _ setUp: inout IIOSetUp, _ settings: IMUSettings, elements: String, buffer: String, _ claim: IIOClaim
    ) throws(IIOError) -> IIOCapture? {
        // No other program reads the device, so a killed one left the buffer on. Nothing can be set while it is.
        do throws(SystemFailure) {
            let enable = "\(setUp.device.path)/\(buffer)/enable"
            if SystemFiles.line(of: enable) == "1" { try IIOChanges.write(enable, "0") }
        } catch {
            throw IIOError(.cannotWrite(attribute: "\(buffer)/enable"), device: setUp.device.title, error)
        }
        setUp.clearNotedRate(before: settings.rate, elements: elements, buffer: buffer)
        var rate = try setUp.configure(settings)
        var trigger: IIOTrigger?
        if SystemFiles.resolved("\(setUp.device.path)/trigger") != nil {
            trigger = try IIOTrigger.choose(
                for: setUp.device, rate: min(settings.rate, rate ?? settings.rate), in: setUp.places, &setUp.changes)
            guard let trigger else { return nil }
            rate = trigger.rate ?? rate
        }
        setUp.capturesField = settings.connectsMagnetometer && setUp.device.measuresField
        let frame = try setUp.selectChannels(in: elements)
        let clock = frame.time == nil ? IIOClock.none : try IIOClock.choose(on: setUp.device, &setUp.changes)
        try setUp.setLength(in: buffer, rate: rate ?? settings.rate, settings)
        try setUp.set("\(buffer)/enable", to: "1")
        return IIOCapture(setUp, frame, clock, trigger, rate: rate, claim)
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
            repeat { count = Glibc.read(claim.file, bytes + filled, wanted - filled) } while count < 0 && errno == EINTR
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
        let failure = changes.undo()
        claim.end()
        if let failure { throw .opening(failure) }
    }
}
