internal import MotionCore

/// What is known of the chip's temperature, °C.
struct Thermometer: BitwiseCopyable {
    /// What the next frame's temperature must be near to; `nil` when the next frame sets the standard.
    private(set) var standard: Double?
    /// The temperature of a chip that does not put it into the FIFO; not-a-number before it was asked for.
    private(set) var separate = Double.nan
    /// When that is asked for next.
    private var due = Timestamp(nanoseconds: 0)

    /// Samples begin to flow: a temperature that is not in the frames is asked for with the first.
    mutating func begin(at now: Timestamp) { due = now }

    /// Forgets what frames have to be near to.
    mutating func forgetStandard() { standard = nil }

    /// Takes what the chip measured just before its FIFO was started. After waking the register may still hold its reset
    /// value, zero, and is no standard.
    mutating func noteStart(raw: Int16, celsius: Double) {
        standard = raw != 0 && DriverTiming.plausibleTemperatures.contains(celsius) ? celsius : nil
    }

    /// Takes the temperature of a frame that was delivered.
    mutating func noteFrame(celsius: Double) { standard = celsius }

    /// Takes the temperature that was asked for.
    mutating func noteSeparate(celsius: Double) { separate = celsius }

    /// Whether it is time to ask for the temperature; if so, the next time is an interval on.
    mutating func isDue(at now: Timestamp) -> Bool {
        guard now >= due else { return false }
        due = now.advanced(bySeconds: DriverTiming.temperatureInterval)
        return true
    }
}
