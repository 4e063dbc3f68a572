/// How patient the driver is with every chip, seconds unless said.
enum DriverTiming {
    /// How long after its reset a chip may refuse writes: an MPU-6050's registers take 100 ms from power-up (PS-MPU-6000A-00
    /// r3.4, 6.3).
    static var registerPatience: Double { 0.15 }
    /// Configuration registers are looked at this often, a group at a time.
    static var healthInterval: Double { 0.1 }
    /// Temperatures that are not in the FIFO are asked for this often.
    static var temperatureInterval: Double { 1 }
    /// Samples are missed after this many periods, and not before `shortestStall`.
    static var stalledPeriods: Double { 5 }
    static var shortestStall: Double { 0.05 }
    /// Bit for bit the same frame for so long is a frozen chip: noise alone changes some bit in every frame.
    static var frozenAfter: Double { 0.5 }
    /// The same at high rates, in frames; no more are ever held back.
    static var mostFrozen: Double { 64 }
    /// So many frames more than chance can repeat are certain.
    static var certainlyFrozen: Double { 4 }
    /// A bus may fail for so long before the chip is brought up anew, while the FIFO can still hold what was measured.
    static var busPatience: Double { 0.25 }
    static var shortestBusPatience: Double { 0.06 }
    /// Waits between attempts to bring the chip up: doubled from the first to the last. A look at a bus without an answer
    /// takes less than a millisecond, so that what is plugged in again need not wait longer.
    static var firstBackOff: Double { 0.025 }
    static var lastBackOff: Double { 0.2 }
    /// The operating range of such chips and some tolerance, °C: what a FIFO that slipped tells for a temperature is
    /// mostly outside.
    static var plausibleTemperatures: ClosedRange<Double> { -45...90 }
    /// The most by which the temperature differs from one frame to the next, °C; ArduPilot takes the same 800 counts.
    static var temperatureJump: Double { 800.0 / 340 }
}
