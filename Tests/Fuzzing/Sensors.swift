// What sensors deliver: FIFO bytes and registers of every chip, and frames of kernel drivers.
import IMUDrivers
import MotionCore
import MotionTestSupport
import VirtualIMU

@testable import LinuxSensors

/// The families of chips.
enum Family {
    case mpu, lsm6ds, bmi160, icm42688, adxl345, icm20948
    case lsm9ds1, lis3dh
}

/// The rest of an input.
private final class Input {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
    }

    var isEmpty: Bool { bytes.isEmpty }

    /// The next byte; 0 at the end.
    func next() -> UInt8 { bytes.popFirst() ?? 0 }
}

/// A virtual chip on a bus that garbles and loses transactions as the input says. After the end of the input it works.
private struct GarblingBus: RegisterBus {
    var bus: VirtualBus<ManualClock>
    let input: Input

    var maximumReadLength: Int { bus.maximumReadLength }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
        let order = input.next()
        if order >= 0xF0 { throw failure(order) }
        try bus.read(register, into: buffer)
        switch order {
        case 0x80..<0xB0:
            for index in buffer.indices where !input.isEmpty { buffer[index] = input.next() }
        case 0xB0..<0xD0:
            buffer[Int(input.next()) * 256 % buffer.count] ^= 1 << (order & 7)
        case 0xD0..<0xF0:
            let byte = input.next()
            for index in buffer.indices { buffer[index] = byte }
        default: break
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
        let order = input.next()
        if order >= 0xF0 { throw failure(order) }
        // Some are lost without an error.
        if order < 0xE0 { try bus.write(register, value) }
    }

    private func failure(_ order: UInt8) -> BusError {
        let kinds: [BusError.Kind] = [.notAcknowledged, .arbitrationLost, .timedOut, .inputOutput, .absent, .busy]
        return BusError(kinds[Int(order) % kinds.count], code: 5)
    }
}

/// Polls a driver on a bus that follows the input. Whatever the chip seems to say, times of samples increase, and when
/// the bus works again, the driver measures again.
func driveChip(_ family: Family, _ bytes: [UInt8]) {
    let input = Input(bytes)
    let choice = Int(input.next())
    switch family {
    case .mpu: drive(MPUFamily.self, [.mpu6050, .mpu6500, .icm20602, .icm20689][choice % 4], input)
    case .lsm6ds:
        if choice % 4 == 3 { return drive(LSM6DSO32Family.self, .lsm6dso32, input) }
        drive(LSM6DSFamily.self, [.lsm6ds3, .lsm6ds3trc, .lsm6dso, .ism330dhcx][choice / 4 % 4], input)
    case .bmi160: drive(BMI160Family.self, .bmi160, input)
    case .icm20948: drive(ICM20948Family.self, .icm20948, input)
    case .icm42688: drive(ICM42688Family.self, choice % 2 == 0 ? .icm42688 : .icm42605, input)
    case .adxl345:
        if choice % 2 == 1 { return drive(ADXL375Family.self, .adxl375, input) }
        drive(ADXL345Family.self, .adxl345, input)
    case .lsm9ds1: drive(LSM9DS1Family.self, .lsm9ds1, input)
    case .lis3dh:
        switch choice % 4 {
        case 1: drive(LSM303AGRFamily.self, .lsm303agr, input)
        case 2, 3: drive(LIS2DE12Family.self, .lis2de12, input)
        default: drive(LIS3DHFamily.self, .lis3dh, input)
        }
    }
}

private struct Still: Trajectory {
    var duration: Double { .infinity }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        TrueMotion(attitude: pose, rotationRate: Vector3(0.3, -0.2, 0.1), specificForce: Vector3(1, 2, 9))
    }
}

private func drive<Part: ChipPart>(_ part: Part.Type, _ chip: VirtualPart, _ input: Input) {
    let clock = ManualClock()
    let virtual = VirtualIMUChip(chip, trajectory: Still(), start: clock.now())
    let bus = GarblingBus(bus: VirtualBus(virtual, clock: clock), input: input)
    var driver = ChipDriver<Part, GarblingBus, ManualClock, NoDataReadyLine>(
        bus: bus, clock: clock, settings: IMUSettings(), line: NoDataReadyLine())
    var batch = SampleBatch(capacity: 80)
    var last: Timestamp?
    var pollsAtOnce = 0

    /// Polls once. Returns the number of samples.
    func poll() -> Int {
        batch.removeAll()
        let poll = driver.poll(into: &batch)
        // What does not fit into a batch is read at once.
        pollsAtOnce = poll.next > clock.now() ? 0 : pollsAtOnce + 1
        require(pollsAtOnce < 32, "the driver does not pause")
        for index in 0..<batch.count {
            let sample = batch[index]
            require(
                sample.acceleration.length.isFinite && sample.rotationRate.length.isFinite, "a value is not finite")
            if let last { require(sample.timestamp > last, "the time does not increase") }
            // Before the period is measured, the driver expects it to be up to 15 % shorter.
            require(sample.timestamp <= clock.now().advanced(bySeconds: 0.4), "a sample of the future")
            last = sample.timestamp
        }
        clock.advance(to: poll.next)
        return batch.count
    }

    for _ in 0..<2000 where !input.isEmpty { _ = poll() }
    // The bus works again.
    let end = clock.now().advanced(bySeconds: 120)
    var samples = 0
    while clock.now() < end, samples < 50 { samples += poll() }
    require(samples >= 50, "the driver does not recover: \(driver.status.state)")
}

/// A frame of any layout is decoded within its bytes.
func decodeIIOFrames(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0x0A, maxSplits: 8, omittingEmptySubsequences: false)
    var elements: [IIOFrameLayout.Element] = []
    for (index, part) in parts.dropLast().enumerated() {
        guard let type = IIOScanType(String(decoding: part, as: UTF8.self)), type.repeats == 1 else { return }
        elements.append(IIOFrameLayout.Element(name: "\(index)", index: (index * 5) % 8, type: type))
    }
    guard elements.count == 8, let data = parts.last else { return }
    let layout = IIOFrameLayout(elements)
    let axes = elements.map { element in
        IIOAxis(offset: layout.offsets[element.name] ?? 0, type: element.type, scale: 0.01, bias: -3)
    }
    let frame = IIOFrame(
        length: layout.frameLength, acceleration: IIOAxes(x: axes[0], y: axes[1], z: axes[2]),
        rotationRate: IIOAxes(x: axes[3], y: axes[4], z: axes[5]), temperature: axes[6], time: axes[7])
    // Exactly as long as the frame, so that the address sanitizer notices what is read behind it.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: frame.length, alignment: 8)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: frame.length)
    for (index, byte) in data.prefix(frame.length).enumerated() {
        memory.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
    }
    let reading = frame.reading(at: memory, clockOffset: .max)
    require(reading.acceleration.length.isFinite && reading.rotationRate.length.isFinite, "a value is not finite")
    for axis in axes {
        require(
            axis.range.isFinite && axis.range > 0 && axis.type.minimum <= axis.type.maximum, "an impossible range")
    }
}
