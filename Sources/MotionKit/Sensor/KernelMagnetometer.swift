internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// A magnetometer of a kernel driver, read with a kernel sensor, up to 10 times a second.
///
/// The field of the sensor's own device comes with its samples. That of another device is read value by value: one axis
/// takes 1 or 2 ms on a bus of 100 kHz if the chip measures continuously (st_magn, hmc5843), and 10 to 20 ms with ak8975,
/// which starts a measurement for each axis and sleeps meanwhile. So the thread of the sensor is held up for the shorter of
/// three axes, or 5 ms and one axis: then the sensor is polled at once, and the next axis read after it. An ak8975 holds up
/// every sample by 20 ms at most, in 30 to 60 ms of each 100 ms, and needs no processor meanwhile. A driver gives up a
/// measurement that does not end after 0.5 s at most. Such a failure counts at once, and the next attempt has to wait, up to
/// a minute, so that they cannot add up; the kernel's buffer holds the samples of a second.
///
/// The axes are measured one after the other. The time of a reading is their middle, and if the first and the last are more
/// than 50 ms apart, or one took longer, it is not delivered, so that an axis is off by 25 ms at most. (An ak8975 takes
/// about 50 ms for all three with 250 ticks a second, so that the first and the last are 33 ms apart.)
///
/// A poll allocates nothing unless the magnetometer is opened again.
final class KernelMagnetometer {
    /// "iio:device1 (ak8963)", the number being that when it was opened first.
    let name: String
    private(set) var status = MagnetometerStatus()

    private enum Mode {
        /// The field comes with the sensor's samples.
        case captured
        /// It is read value by value.
        case values
        /// Neither is possible.
        case none
    }

    private var choice: KernelMagnetometerChoice
    private var mode = Mode.none
    private let places: IIOPlaces
    private let clock = SystemClock()
    private var accelerometer: IIODevice
    private var rotation: Matrix3?
    private var age = 0.0
    private var reader: IIOFieldReader?

    /// The newest reading, until it is taken.
    private var field: MagneticSample?
    /// The measurement that last differed from the one before, µT in the magnetometer's axes, and when it was seen.
    private var lastMeasured: Vector3?
    private var lastChange = Timestamp(nanoseconds: 0)
    private var lastTime: Timestamp?

    // Value by value: the reading in progress, and when the next one is due.
    private var reading = KernelFieldReading()
    private var due = Timestamp(nanoseconds: .min)

    // The present outage.
    private var isOut = false
    private var failedReadings = 0
    private var lateReadings = 0
    private var backOff = KernelMagnetometerTiming.firstBackOff

    private init(
        _ choice: KernelMagnetometerChoice, _ accelerometer: IIODevice, _ reader: IIOFieldReader?, in places: IIOPlaces
    ) {
        self.choice = choice
        self.accelerometer = accelerometer
        self.reader = reader
        self.places = places
        name = choice.device.title
        rotation = choice.rotation(to: accelerometer)
    }

    /// Opens the magnetometer of a sensor if the settings ask for it. If there is none, or it cannot be opened, one sentence
    /// says why.
    static func open(
        beside sensor: KernelSensorChoice, _ settings: IMUSettings, in places: IIOPlaces, _ vocabulary: SensorVocabulary
    ) -> (magnetometer: KernelMagnetometer?, note: String?) {
        guard settings.connectsMagnetometer else { return (nil, nil) }
        let accelerometer = sensor.accelerometer
        guard let choice = KernelMagnetometerChoice(for: accelerometer, among: IIODevice.all(in: places)) else {
            let bus = accelerometer.i2cPlace.map { ", nor is there another on i2c-\($0.bus)" } ?? ""
            return (nil, "\(vocabulary.magnetometer): \(accelerometer.title) has no magnetometer\(bus)")
        }
        do throws(IIOError) {
            // That of the sensor's own device is opened when it turns out that the samples have no field.
            let reader = choice.isOwn ? nil : try IIOFieldReader.open(choice.device)
            return (KernelMagnetometer(choice, accelerometer, reader, in: places), nil)
        } catch {
            return (nil, "\(vocabulary.magnetometer): \(error)")
        }
    }

    /// What is wrong with it: one sentence each.
    func notes(in vocabulary: SensorVocabulary) -> [String] {
        var notes: [String] = []
        if let text = choice.ignoredMatrix {
            notes.append(
                "\(vocabulary.magnetometer): the mount matrix \"\(text)\" of \(name) is not a rotation and is ignored")
        }
        if mode == .none {
            notes.append(
                "\(vocabulary.magnetometer): \(name) has the field only in its buffer, and cannot be read through it")
        }
        return notes
    }

    /// Begins with a new stream of the sensor, whose device may have another number now.
    ///
    /// - Parameters:
    ///   - accelerometer: the device with the accelerometer.
    ///   - isCaptured: whether the samples come with the field.
    ///   - rate: samples per second.
    func begin(beside accelerometer: IIODevice, isCaptured: Bool, rate: Double) {
        self.accelerometer = accelerometer
        if choice.isOwn {
            choice.device = accelerometer
            reader = nil
            rotation = choice.rotation(to: accelerometer)
        }
        mode = choice.isOwn && isCaptured ? .captured : choice.hasQuickValues ? .values : .none
        age = choice.age(atRate: rate)
        let now = clock.now()
        lastChange = now
        reading = KernelFieldReading()
        due = now
        if mode == .none { fail(.stalled) } else { status.state = .measuring }
    }

    func stop() {
        reader = nil
        field = nil
        isOut = false
        backOff = KernelMagnetometerTiming.firstBackOff
        failedReadings = 0
        lateReadings = 0
        status.state = .asleep
    }

    func takeField() -> MagneticSample? {
        defer { field = nil }
        return field
    }

    // MARK: With the samples

    /// Takes the field that came with a sample, unless it is an old one: a chip measures it less often.
    func take(_ captured: Vector3, at time: Timestamp) {
        guard mode == .captured, captured != .zero, captured != lastMeasured else { return }
        lastMeasured = captured
        lastChange = clock.now()
        status.state = .measuring
        if let lastTime, time.seconds(since: lastTime) < KernelMagnetometerTiming.leastInterval, time >= lastTime {
            return
        }
        lastTime = time
        deliver(captured, at: time.advanced(bySeconds: -age))
    }

    // MARK: Value by value

    /// Does whatever is due. Returns whether there is more to do at once, after the sensor was polled.
    func poll() -> Bool {
        let now = clock.now()
        switch mode {
        case .none: return false
        case .captured:
            if status.state == .measuring, isFrozen(at: now) { fail(.stalled) }
            return false
        case .values: break
        }
        guard reading.isBegun || now >= due else { return false }
        guard let reader else {
            reopen()
            return false
        }
        do throws(BusError) {
            switch try reading.advance(clock, read: { (axis: Int) throws(BusError) in try reader.read(axis) }) {
            case .incomplete: return true
            case .complete: finish()
            case .late: discardLate()
            }
        } catch {
            tolerate(error)
        }
        return false
    }

    /// Delivers a reading that is complete.
    private func finish() {
        schedule(after: reading.end)
        failedReadings = 0
        lateReadings = 0
        let measured = reading.field
        if measured != lastMeasured, measured != .zero {
            lastMeasured = measured
            lastChange = reading.end
        }
        guard !isFrozen(at: reading.end) else { return fail(.stalled) }
        guard measured != .zero else { return }
        deliver(measured, at: reading.time)
    }

    /// A late reading does not bring the next one nearer than half an interval.
    private func schedule(after end: Timestamp) {
        due = max(
            due.advanced(bySeconds: KernelMagnetometerTiming.interval),
            end.advanced(bySeconds: KernelMagnetometerTiming.interval / 2))
    }

    private func discardLate() {
        schedule(after: reading.end)
        lateReadings += 1
        if lateReadings >= KernelMagnetometerTiming.failureLimit { fail(.stalled) }
    }

    /// Counts a failure. If the device is gone, or failures are many or slow, it is opened again after a pause.
    private func tolerate(_ error: BusError) {
        schedule(after: reading.end)
        status.busErrors.count(error)
        failedReadings += 1
        let isSlow = reading.lastDuration > KernelMagnetometerTiming.longestReading
        guard error.kind == .absent || isSlow || failedReadings >= KernelMagnetometerTiming.failureLimit else { return }
        fail(.bus(error))
    }

    /// Looks for the device, whose number may have changed, and opens it.
    private func reopen() {
        status.state = .identifying
        guard let found = choice.found(for: accelerometer, among: IIODevice.all(in: places)) else {
            return fail(.bus(BusError(.absent)))
        }
        do throws(IIOError) {
            reader = try IIOFieldReader.open(found.device)
        } catch {
            status.busErrors.count(error.busError)
            return fail(.bus(error.busError))
        }
        choice = found
        rotation = found.rotation(to: accelerometer)
        status.state = .measuring
    }

    // MARK: Both

    /// Whether no bit has changed for so long that the magnetometer cannot be measuring: noise would change some.
    private func isFrozen(at now: Timestamp) -> Bool {
        now.seconds(since: lastChange) > KernelMagnetometerTiming.frozenAfter
    }

    private func deliver(_ measured: Vector3, at time: Timestamp) {
        status.readings += 1
        if isOut { status.recoveries += 1 }
        isOut = false
        backOff = KernelMagnetometerTiming.firstBackOff
        field = MagneticSample(timestamp: time, field: rotation.map { $0 * measured } ?? measured)
    }

    /// Ends the readings. The device is opened again after a pause that grows with each failure.
    private func fail(_ fault: MagnetometerFault) {
        reader = nil
        status.state = .recovering
        status.lastFault = fault
        if !isOut { status.failures += 1 }
        isOut = true
        failedReadings = 0
        lateReadings = 0
        due = clock.now().advanced(bySeconds: backOff)
        backOff = min(2 * backOff, KernelMagnetometerTiming.lastBackOff)
    }
}

/// The timing of a kernel magnetometer, in seconds unless stated.
enum KernelMagnetometerTiming {
    /// The interval between readings, and the least one between those that come with samples.
    static let interval = 0.1
    static let leastInterval = 0.095
    /// The most that one poll takes, if an axis takes less.
    static let longestPoll = 0.005
    /// Axes that are further apart, or take longer, are not one field.
    static let longestReading = 0.05
    /// The number of readings in a row that may fail or take too long.
    static let failureLimit = 3
    /// Without a change of any bit for this long, the magnetometer is frozen.
    static let frozenAfter = 5.0
    /// The pause before the device is opened again, doubled from the first to the last.
    static let firstBackOff = 1.0
    static let lastBackOff = 60.0
}
