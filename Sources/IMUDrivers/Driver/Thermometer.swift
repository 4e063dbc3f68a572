internal import MotionCore

/// The chip's temperature, °C.
struct Thermometer: BitwiseCopyable {
    /// The temperature that the next frame's must be close to; `nil` if the next frame sets the reference.
    var reference: Double?
    /// Whether the last frame's temperature was wrong, so that the next one must be right.
    var isDoubtful = false
    /// The temperature of a chip whose FIFO does not carry it; NaN until it has been read.
    var separate = Double.nan
    /// When it is read next.
    private var due = Timestamp(nanoseconds: 0)

    /// Starts the schedule: a temperature that is not in the frames is read with the first batch.
    mutating func begin(at now: Timestamp) { due = now }

    /// Discards the reference.
    mutating func forgetReference() {
        reference = nil
        isDoubtful = false
    }

    /// Takes the temperature measured just before the FIFO was started as the reference. A raw zero is not used: after
    /// waking, the register may still hold its reset value.
    mutating func noteStart(raw: Int16, celsius: Double) {
        reference = raw != 0 && DriverTiming.plausibleTemperatures.contains(celsius) ? celsius : nil
    }

    /// Whether a temperature read is due.
    func isDue(at now: Timestamp) -> Bool { now >= due }

    /// Schedules the next one.
    mutating func schedule(after now: Timestamp) { due = now.advanced(bySeconds: DriverTiming.temperatureInterval) }
}
