internal import MotionCore

/// The registers of an AK8963 according to MS1356-E-02 (p. 15, 25, 29) and RM-MPU-9250A-00 r1.4 (p. 47 to 52).
///
/// What the datasheet forbids is punished: a mode that is set while another one is active, or less than 0.1 ms after
/// power-down, is ignored; factory values that are read in another mode are zero. Not modelled: single and external
/// triggered measurements, self-test, the I2C disable.
struct VirtualAK8963Registers: VirtualMagnetometerRegisters {
    private let codes: [UInt8]
    var registers = RegisterFile(count: 0x13, defaults: [0x00: 0x48, 0x01: 0x9A])
    private var output = VirtualAKMOutput()
    private var powerDown = Timestamp(nanoseconds: 0)

    init(sensitivityCodes: (x: UInt8, y: UInt8, z: UInt8)) {
        codes = [sensitivityCodes.x, sensitivityCodes.y, sensitivityCodes.z]
    }

    var identityRegister: UInt8 { 0x00 }
    var modeRegisters: [UInt8] { [0x0A] }

    mutating func begin(_ engine: inout MagnetometerEngine) {
        output = VirtualAKMOutput()
        powerDown = engine.now
        engine.run(every: nil, taking: VirtualAKMOutput.measuringTime)
    }

    private var mode: UInt8 { registers[0x0A] & 0x0F }

    /// The address advances up to 0x0C and goes on at 0x00; 0x10 to 0x12 are a cycle of their own.
    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout MagnetometerEngine
    ) {
        var address = Int(register)
        for index in buffer.indices {
            switch address {
            case 0x02: buffer[index] = output.status1
            case 0x03...0x08: buffer[index] = output.readByte(address - 0x03)
            case 0x09: buffer[index] = output.readStatus2() | registers[0x0A] & 0x10
            case 0x0B: buffer[index] = registers.isResetting(at: engine.now) ? 0x01 : 0
            case 0x10...0x12: buffer[index] = mode == 0x0F ? codes[address - 0x10] : 0
            case 0x00...0x12: buffer[index] = registers[address]
            default: buffer[index] = 0
            }
            address = address == 0x0C ? 0x00 : address == 0x12 ? 0x10 : address + 1
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout MagnetometerEngine) {
        switch register {
        case 0x0A: setMode(value & 0x1F, &engine)
        case 0x0B where value & 0x01 != 0:
            reset(for: VirtualAKMOutput.resetTime, &engine)
        case 0x0C: registers[0x0C] = value & 0x40
        default: break
        }
    }

    private mutating func setMode(_ value: UInt8, _ engine: inout MagnetometerEngine) {
        if value & 0x0F == 0 {
            powerDown = engine.now
        } else if mode != 0 || engine.now.seconds(since: powerDown) < 0.000_1 {
            return
        }
        registers[0x0A] = value
        configure(&engine)
    }

    func configure(_ engine: inout MagnetometerEngine) {
        let period: Double? =
            switch mode {
            case 0x02: 0.125
            case 0x06: 0.01
            default: nil
            }
        engine.run(every: period, taking: VirtualAKMOutput.measuringTime)
    }

    /// Along the magnetometer's own axes: x is the board's y, y its x, and z points down. Without BIT, a count is 0.6 µT.
    mutating func take(_ completed: MagnetometerEngine.Completed, isFrozen: Bool) -> Bool {
        let field = completed.field
        let count = registers[0x0A] & 0x10 != 0 ? 0.15 : 0.6
        func scale(_ code: UInt8) -> Double { count * (1 + (Double(code) - 128) / 256) }
        return output.take(
            Vector3(field.y, field.x, -field.z), counts: completed.count,
            scales: Vector3(scale(codes[0]), scale(codes[1]), scale(codes[2])),
            limit: count < 0.5 ? 32760 : 8190, isFrozen: isFrozen)
    }
}

/// The registers of an AK09916 according to DS-000189 r1.3, p. 78 to 80.
///
/// A mode that is set while another one is active is ignored. Not modelled: single measurements, self-test.
struct VirtualAK09916Registers: VirtualMagnetometerRegisters {
    var registers = RegisterFile(count: 0x33, defaults: [0x00: 0x48, 0x01: 0x09])
    private var output = VirtualAKMOutput()

    var identityRegister: UInt8 { 0x01 }
    var modeRegisters: [UInt8] { [0x31] }

    mutating func begin(_ engine: inout MagnetometerEngine) {
        output = VirtualAKMOutput()
        engine.run(every: nil, taking: VirtualAKMOutput.measuringTime)
    }

    /// The address advances from 0x03 to 0x10 and from 0x18 to 0x00; 0x30 to 0x32 are a cycle of their own.
    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout MagnetometerEngine
    ) {
        var address = Int(register)
        for index in buffer.indices {
            switch address {
            case 0x10: buffer[index] = output.status1
            case 0x11...0x16: buffer[index] = output.readByte(address - 0x11)
            case 0x18: buffer[index] = output.readStatus2()
            case 0x32: buffer[index] = registers.isResetting(at: engine.now) ? 0x01 : 0
            case 0x00...0x32: buffer[index] = registers[address]
            default: buffer[index] = 0
            }
            switch address {
            case 0x03: address = 0x10
            case 0x18: address = 0x00
            case 0x32: address = 0x30
            default: address += 1
            }
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout MagnetometerEngine) {
        switch register {
        case 0x31 where value & 0x1F == 0 || registers[0x31] == 0:
            registers[0x31] = value & 0x1F
            configure(&engine)
        case 0x32 where value & 0x01 != 0:
            reset(for: VirtualAKMOutput.resetTime, &engine)
        default: break
        }
    }

    func configure(_ engine: inout MagnetometerEngine) {
        let period: Double? =
            switch registers[0x31] {
            case 0x02: 0.1
            case 0x04: 0.05
            case 0x06: 0.02
            case 0x08: 0.01
            default: nil
            }
        engine.run(every: period, taking: VirtualAKMOutput.measuringTime)
    }

    /// Along the magnetometer's own axes: y and z point the other way than the board's.
    mutating func take(_ completed: MagnetometerEngine.Completed, isFrozen: Bool) -> Bool {
        let field = completed.field
        return output.take(
            Vector3(field.x, -field.y, -field.z), counts: completed.count, scales: Vector3(0.15, 0.15, 0.15),
            limit: 32752, isFrozen: isFrozen)
    }
}

/// The status and output registers of Asahi Kasei's magnetometers: ST1, six bytes and ST2 (MS1356-E-02 p. 15, 29; DS-000189
/// r1.3, p. 78, 79).
struct VirtualAKMOutput: Sendable {
    /// Duration of a reset, and of a measurement, seconds. Neither the pages at hand of the AK8963's datasheet nor that of the
    /// ICM-20948 give them.
    static let resetTime = 0.001
    static let measuringTime = 0.0072

    private var counts: [Int16] = [0, 0, 0]
    private var isReady = false
    private var isOverrun = false
    private var isOverflow = false
    /// Whether a measurement is being read: until ST2 is read, newer ones are not stored.
    private var isProtected = false

    /// ST1: DRDY, DOR.
    var status1: UInt8 { (isReady ? 0x01 : 0) | (isOverrun ? 0x02 : 0) }

    /// A byte of the data, 0 to 5. Reading it clears DRDY and DOR, and begins the reading of the measurement.
    mutating func readByte(_ index: Int) -> UInt8 {
        isReady = false
        isOverrun = false
        isProtected = true
        return UInt8(truncatingIfNeeded: counts[index / 2] >> (index % 2 == 0 ? 0 : 8))
    }

    /// ST2: HOFL. Reading it ends the reading of the measurement.
    mutating func readStatus2() -> UInt8 {
        isReady = false
        isOverrun = false
        isProtected = false
        return isOverflow ? 0x08 : 0
    }

    /// Stores a field along the magnetometer's own axes, µT, with these sizes of a count. Returns whether it did.
    mutating func take(_ field: Vector3, counts number: UInt64, scales: Vector3, limit: Double, isFrozen: Bool) -> Bool
    {
        guard !isProtected else { return false }
        isOverrun = isReady || number > 1
        isReady = true
        guard !isFrozen else { return true }
        isOverflow = abs(field.x) + abs(field.y) + abs(field.z) >= 4912
        for axis in 0..<3 {
            counts[axis] = VirtualIMU.counts(field[axis], scale: scales[axis], within: -limit...limit)
        }
        return true
    }
}
