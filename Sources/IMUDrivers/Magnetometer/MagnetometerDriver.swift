package import MotionCore

/// A driver for any magnetometer that a `MagnetometerPart` describes: a state machine that performs the due work each time
/// it is polled, and never sleeps or waits. It allocates nothing after it was created.
///
///     asleep -> identifying -> starting -> measuring
///                    ^---- recovering <- any failure of any of them
///
/// The chip measures continuously, at 80 or 100 Hz, and a reading takes the newest measurement, 20 times a second. So a
/// reading costs one or two transactions and needs no estimate of the chip's phase: its measurement was completed at most
/// one period of the chip before the transaction, 10 or 12.5 ms. The time stamp is the middle of that interval minus the
/// delay of a measurement. Its error is at most half a period plus half the duration of the transaction, 7 ms on a bus of
/// 100 kHz. A transaction of more than half the interval between readings delivers nothing, so that the error is below half
/// the interval at worst. At 20 Hz, the chip would be read as often, and the error would be up to 25 ms.
///
/// The configuration is read with or after each reading. If it is not what was written, the reading is not delivered.
package struct MagnetometerDriver<
    Part: MagnetometerPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock
>: ~Copyable {
    package let info: MagnetometerInfo
    package internal(set) var status = MagnetometerStatus()

    var bus: Bus
    let clock: Clock
    var part = Part()
    let registers: RegisterTable
    let buffer = MagnetometerBuffer()

    /// When the next poll is due.
    var due = Timestamp(nanoseconds: 0)
    /// The next step of the bring-up, and the end of its wait; `nil` if it is not waiting.
    var step = 0
    var waitEnd: Timestamp?
    /// When the chip last had a new measurement, and when the bus last answered.
    var lastMeasurement = Timestamp(nanoseconds: 0)
    var lastAnswer = Timestamp(nanoseconds: 0)
    /// The last field that differed from the one before, µT, and how often it has been repeated since. A frozen chip may
    /// repeat it even after it was brought up again.
    var lastField: Vector3?
    var repetitions = 0
    /// Whether a transaction was interrupted, so that the chip may hold back a part of an old measurement.
    var isInterrupted = false
    var retries = TransactionRetries()
    /// The pause before the next attempt, seconds.
    var backoff = MagnetometerTiming.firstBackoff
    /// Whether readings have stopped, or could not begin.
    var isOut = false

    /// Creates a driver. It does not use the bus before the first `poll`.
    ///
    /// - Parameters:
    ///   - bus: the chip on its bus.
    ///   - clock: the clock for timestamps and deadlines.
    package init(bus: consuming Bus, clock: Clock) {
        self.bus = bus
        self.clock = clock
        registers = Self.table()
        info = MagnetometerInfo(
            name: Part.name, range: Part.figures.range, nominalRate: 1 / Part.figures.interval)
    }

    /// Not in the initialiser: Swift 6.0.3 crashes on a mutating method call there.
    private static func table() -> RegisterTable {
        var table = RegisterTable()
        Part().addRegisters(to: &table)
        return table
    }

    /// Performs the work due now. Polling a stopped driver starts it again.
    package mutating func poll() -> MagnetometerPoll {
        guard status.state == .asleep || clock.now() >= due else { return MagnetometerPoll(next: due) }
        var sample: MagneticSample?
        do throws(MagnetometerFault) {
            switch status.state {
            case .asleep, .identifying: try identify()
            case .starting: try start()
            case .measuring: sample = try measure()
            case .recovering:
                try reopen()
                try identify()
            }
        } catch {
            recover(from: error)
        }
        return MagnetometerPoll(next: due, sample: sample)
    }

    /// Puts the part to sleep. The driver does not use the bus again until the next `poll`.
    package mutating func stop() throws(BusError) {
        guard status.state != .asleep else { return }
        // A part that was not identified is left alone.
        let isStarted = status.state == .starting || status.state == .measuring
        status.state = .asleep
        backoff = MagnetometerTiming.firstBackoff
        isOut = false
        if isStarted { try write(Part.sleep.register, Part.sleep.set) }
    }

    /// Abandons the present attempt. The part is brought up from scratch after a pause that grows with each failure.
    private mutating func recover(from fault: MagnetometerFault) {
        status.state = .recovering
        status.lastFault = fault
        if !isOut { status.failures += 1 }
        isOut = true
        due = clock.now().advanced(bySeconds: backoff)
        backoff = min(2 * backoff, MagnetometerTiming.longestBackoff)
    }
}
