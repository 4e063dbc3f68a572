internal import MotionCore

/// The registers of an AK09916 according to DS-000189 r1.3, p. 78 to 80.
///
/// A mode that is set while another one is active is ignored. Not modelled: single measurements, self-test.
struct VirtualAK09916Registers: VirtualMagnetometerRegisters {
    /// Duration of a reset, and of a measurement, seconds. The datasheet of the ICM-20948 gives neither.
    private static let resetTime = 0.001
    private static let measuringTime = 0.0072

    private var registers = RegisterFile(count: 0x33, defaults: [0x00: 0x48, 0x01: 0x09])
    private var output = VirtualAKMOutput()

    var identityRegister: UInt8 { 0x01 }

    mutating func powerCycle(_ engine: inout MagnetometerEngine) {
        registers.powerUp()
        begin(&engine)
    }

    private mutating func begin(_ engine: inout MagnetometerEngine) {
        output = VirtualAKMOutput()
        engine.run(every: nil, taking: Self.measuringTime)
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
        guard !registers.isResetting(at: engine.now) else { return }
        switch register {
        case 0x31 where value & 0x1F == 0 || registers[0x31] == 0:
            registers[0x31] = value & 0x1F
            configure(&engine)
        case 0x32 where value & 0x01 != 0:
            registers.reset(until: engine.now.advanced(bySeconds: Self.resetTime))
            begin(&engine)
        default: break
        }
    }

    private func configure(_ engine: inout MagnetometerEngine) {
        let period: Double? =
            switch registers[0x31] {
            case 0x02: 0.1
            case 0x04: 0.05
            case 0x06: 0.02
            case 0x08: 0.01
            default: nil
            }
        engine.run(every: period, taking: Self.measuringTime)
    }

    /// Along the magnetometer's own axes: y and z point the other way than the board's.
    mutating func take(_ completed: MagnetometerEngine.Completed, isFrozen: Bool) -> Bool {
        let field = completed.field
        return output.take(
            Vector3(field.x, -field.y, -field.z), counts: completed.count, scales: Vector3(0.15, 0.15, 0.15),
            limit: 32752, isFrozen: isFrozen)
    }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout MagnetometerEngine) {
        guard register < 0x33 else { return }
        registers[Int(register)] ^= 1 << (bit & 7)
        if register == 0x31 { configure(&engine) }
    }
}
