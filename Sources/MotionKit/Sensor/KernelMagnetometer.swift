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
    private var stream = MagnetometerStream(
        firstPause: KernelMagnetometerTiming.firstBackOff, longestPause: KernelMagnetometerTiming.lastBackOff)
    var status: MagnetometerStatus { stream.status }

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
    private let places: SystemPlaces
    private let clock = SystemClock()
    private var accelerometer: IIODevice
    private var rotation: Matrix3?
    private var age = 0.0
    /// The axes; `nil` while they are not open.
    private var reader: [IIOValue]?

    /// The newest reading, until it is taken.
    private var field: MagneticSample?
    /// The measurement that last differed from the one before, µT in the magnetometer's axes, and when it was seen.
    private var lastMeasured: Vector3?
    private var lastChange = Timestamp(nanoseconds: 0)
    private var lastTime: Timestamp?

    // Value by value: the reading in progress, and how many have failed or were late since the last one.
    private var reading = KernelFieldReading()
    private var failedReadings = 0
    private var lateReadings = 0

    private init(
        _ choice: KernelMagnetometerChoice, _ accelerometer: IIODevice, _ reader: [IIOValue]?,
        in places: SystemPlaces
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
        beside sensor: KernelSensorChoice, _ settings: IMUSettings, in places: SystemPlaces,
        _ vocabulary: SensorVocabulary
    ) -> (magnetometer: KernelMagnetometer?, note: String?) {
        guard settings.connectsMagnetometer else { return (nil, nil) }
        let accelerometer = sensor.accelerometer
        guard let choice = KernelMagnetometerChoice(for: accelerometer, among: IIODevice.all(in: places)) else {
            let bus = accelerometer.i2cPlace.map { ", nor is there another on i2c-\($0.bus)" } ?? ""
            return (nil, "\(vocabulary.magnetometer): \(accelerometer.title) has no magnetometer\(bus)")
        }
        do {
            // That of the sensor's own device is opened when it turns out that the samples have no field.
            let reader = choice.isOwn ? nil : try IIOValue.axes(of: .magneticField, choice.device)
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
        stream.due = now
        if mode == .none { fail(.stalled) } else { stream.status.state = .measuring }
    }

    func stop() {
        reader = nil
        field = nil
        failedReadings = 0
        lateReadings = 0
        stream.stop()
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
        stream.status.state = .measuring
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
            if stream.status.state == .measuring, isFrozen(at: now) { fail(.stalled) }
            return false
        case .values: break
        }
        guard reading.isBegun || now >= stream.due else { return false }
        guard let reader else {
            reopen()
            return false
        }
        do {
            switch try reading.advance(clock, read: { (axis: Int) throws(BusError) in try reader[axis].read() }) {
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
        stream.scheduleReading(every: KernelMagnetometerTiming.interval, after: reading.end)
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

    private func discardLate() {
        stream.scheduleReading(every: KernelMagnetometerTiming.interval, after: reading.end)
        lateReadings += 1
        if lateReadings >= KernelMagnetometerTiming.failureLimit { fail(.stalled) }
    }

    /// Counts a failure. If the device is gone, or failures are many or slow, it is opened again after a pause.
    private func tolerate(_ error: BusError) {
        stream.scheduleReading(every: KernelMagnetometerTiming.interval, after: reading.end)
        stream.status.busErrors.count(error)
        failedReadings += 1
        let isSlow = reading.lastDuration > KernelMagnetometerTiming.longestReading
        guard error.kind == .absent || isSlow || failedReadings >= KernelMagnetometerTiming.failureLimit else { return }
        fail(.bus(error))
    }

    /// Looks for the device, whose number may have changed, and opens it.
    private func reopen() {
        stream.status.state = .identifying
        guard let found = choice.found(for: accelerometer, among: IIODevice.all(in: places)) else {
            return fail(.bus(BusError(.absent)))
        }
        do {
            reader = try IIOValue.axes(of: .magneticField, found.device)
        } catch {
            stream.status.busErrors.count(error.busError)
            return fail(.bus(error.busError))
        }
        choice = found
        rotation = found.rotation(to: accelerometer)
        stream.status.state = .measuring
    }

    // MARK: Both

    /// Whether no bit has changed for so long that the magnetometer cannot be measuring: noise would change some.
    private func isFrozen(at now: Timestamp) -> Bool {
        now.seconds(since: lastChange) > KernelMagnetometerTiming.frozenAfter
    }

    private func deliver(_ measured: Vector3, at time: Timestamp) {
        stream.noteReading()
        field = MagneticSample(timestamp: time, field: rotation.map { $0 * measured } ?? measured)
    }

    /// Ends the readings. The device is opened again after a pause that grows with each failure.
    private func fail(_ fault: MagnetometerFault) {
        reader = nil
        failedReadings = 0
        lateReadings = 0
        stream.fail(with: fault, at: clock.now())
    }
}

/// The timing of a kernel magnetometer, in seconds unless stated.
private enum KernelMagnetometerTiming {
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

/// The kernel's device that measures the magnetic field for a kernel sensor.
struct KernelMagnetometerChoice: Equatable {
    var device: IIODevice

    /// Whether it is the device of the accelerometer.
    let isOwn: Bool

    /// How closely a magnetometer belongs to a sensor, the closest first.
    private enum Relation: Int {
        case own
        /// Another device of the same chip.
        case sameChip
        /// On the bus behind the chip.
        case behindChip
        /// On the same I2C bus, and called like it: `lsm9ds1_magn` beside `lsm9ds1_imu`.
        case namesake
        case sameBus
    }

    /// Chooses the closest magnetometer; among equals the one with the lowest address, since the numbers of devices may
    /// change with each boot. `nil` if there is none.
    init?(for accelerometer: IIODevice, among devices: [IIODevice]) {
        let candidates = devices.compactMap { device in
            KernelMagnetometerChoice.relation(of: device, to: accelerometer).map { (device: device, relation: $0) }
        }
        let best = candidates.min { a, b in
            func key(_ candidate: (device: IIODevice, relation: Relation)) -> (Int, UInt8, Int) {
                (candidate.relation.rawValue, candidate.device.i2cPlace?.address ?? 0, candidate.device.number)
            }
            return key(a) < key(b)
        }
        guard let best else { return nil }
        device = best.device
        isOwn = best.relation == .own
    }

    /// Finds the same magnetometer after its driver was bound again. Another one is not taken: it would need another
    /// calibration.
    func found(for accelerometer: IIODevice, among devices: [IIODevice]) -> KernelMagnetometerChoice? {
        let same = devices.filter { $0.name == device.name && $0.i2cPlace?.address == device.i2cPlace?.address }
        return KernelMagnetometerChoice(for: accelerometer, among: same)
    }

    private static func relation(of device: IIODevice, to accelerometer: IIODevice) -> Relation? {
        guard device.measuresField else { return nil }
        if device.identifier == accelerometer.identifier { return .own }
        if device.chip == accelerometer.chip { return .sameChip }
        if device.gate == accelerometer.chip { return .behindChip }
        guard let bus = accelerometer.i2cPlace?.bus, device.i2cPlace?.bus == bus else { return nil }
        let isNamesake = part(device) != nil && part(device) == part(accelerometer)
        return isNamesake ? .namesake : .sameBus
    }

    /// The part in a name such as `lsm9ds1_magn`.
    private static func part(_ device: IIODevice) -> Substring? {
        device.name?.prefix { $0 != "_" && $0 != "-" }
    }

    // MARK: What its driver needs

    /// Whether the driver is the one that reads the magnetometer of an MPU-9150, MPU-9250 or MPU-9255 through the chip.
    private var isBehindMPU: Bool { isOwn && device.driver?.hasPrefix("inv-mpu6050") == true }

    /// Whether single values can be read in time. inv_mpu6050 starts the magnetometer for each of them and waits for two
    /// of its periods, 40 ms or more; and it refuses while its buffer is on.
    var hasQuickValues: Bool { !isBehindMPU }

    /// How long before a captured sample its field was measured, s, if samples are taken at `rate`, Hz.
    ///
    /// inv_mpu6050 lets the chip start a measurement at most 50 times a second, and fetch the one before. That one was
    /// started one interval earlier, and lasted 7.2 ms.
    func age(atRate rate: Double) -> Double {
        guard isBehindMPU else { return 0 }
        let samples = max(1, (rate / 50).rounded(.down))
        return max(0, samples / rate - 0.0036)
    }

    /// From the magnetometer's axes to the accelerometer's; `nil` if they are the same. The kernel's matrices lead from
    /// each of them to the board.
    ///
    /// inv_mpu6050 also has a matrix for its magnetometer, but computes it by exchanging rows in that of the chip, which is
    /// right only if that one is the identity. How the magnetometer lies in the chip is known, so it is not needed.
    func rotation(to accelerometer: IIODevice) -> Matrix3? {
        guard !isBehindMPU else { return Matrix3(Vector3(0, 1, 0), Vector3(1, 0, 0), Vector3(0, 0, -1)) }
        let from = device.mountMatrix(of: .magneticField) ?? .identity
        let to = accelerometer.mountMatrix(of: .acceleration) ?? .identity
        return from == to ? nil : to.transposed * from
    }

    /// The text of a mount matrix that is ignored because it is not a rotation; otherwise `nil`.
    var ignoredMatrix: String? {
        guard !isBehindMPU, device.mountMatrix(of: .magneticField) == nil else { return nil }
        return device.mountMatrixText(of: .magneticField)
    }
}

/// A reading of a magnetometer of which each axis is measured by itself, and the time for it. It may take several polls.
struct KernelFieldReading: BitwiseCopyable {
    enum Progress: Equatable {
        /// The poll has taken its time: the next axis is to be read in the next one.
        case incomplete
        case complete
        /// The axes are too far apart to be one field.
        case late
    }

    /// The axes that have been read, µT.
    private(set) var field = Vector3.zero
    /// When the last axis ended or failed, and how long it took.
    private(set) var end = Timestamp(nanoseconds: 0)
    private(set) var lastDuration = 0.0
    /// The middle of the first axis.
    private var first = Timestamp(nanoseconds: 0)
    private var axes = 0

    /// Whether there is an axis, and another one is missing.
    var isBegun: Bool { axes > 0 }

    /// From the middle of the first axis to that of the last, s.
    var span: Double { end.seconds(since: first) - 0.5 * lastDuration }

    /// The time of a reading that is complete.
    var time: Timestamp { first.advanced(bySeconds: 0.5 * span) }

    /// Reads what fits in one poll, at least one axis. After a reading that is complete, late or failed, the next call
    /// begins another one.
    mutating func advance(
        _ clock: some MonotonicClock, read: (Int) throws(BusError) -> Double
    ) throws(BusError) -> Progress {
        let begin = clock.now()
        end = begin
        while true {
            let start = end
            let value: Double
            do {
                defer {
                    end = clock.now()
                    lastDuration = end.seconds(since: start)
                }
                value = try read(axes)
            } catch {
                axes = 0
                throw error
            }
            field[axes] = value
            if axes == 0 { first = start.advanced(bySeconds: 0.5 * lastDuration) }
            axes += 1
            if max(span, lastDuration) > KernelMagnetometerTiming.longestReading {
                axes = 0
                return .late
            }
            if axes == 3 {
                axes = 0
                return .complete
            }
            if end.seconds(since: begin) > KernelMagnetometerTiming.longestPoll { return .incomplete }
        }
    }
}
