import IMUDrivers
import MotionCore
import MotionTestSupport

@testable import VirtualIMU

/// A chip on a bus with a clock that the test advances.
final class Rig {
    let clock = ManualClock(seconds: 100)
    let chip: VirtualIMUChip
    private(set) var bus: VirtualBus<ManualClock>

    init(
        _ trajectory: any Trajectory = Rest(), _ imperfections: Imperfections = .ideal, part: VirtualPart = .mpu6050,
        seed: UInt64 = 1, maximumReadLength: Int = 8192
    ) {
        chip = VirtualIMUChip(
            part, trajectory: trajectory, imperfections: imperfections, seed: seed, start: clock.now())
        bus = VirtualBus(chip, clock: clock, maximumReadLength: maximumReadLength)
    }

    func read(_ register: UInt8) throws -> UInt8 { try bus.read(register) }
    func read(_ register: UInt8, count: Int) throws -> [UInt8] { try bus.read(register, count: count) }

    /// Writes registers one after the other.
    func write(_ register: UInt8, _ value: UInt8) throws { try bus.write(register, value) }
    func write(_ registers: (UInt8, UInt8)...) throws {
        for (register, value) in registers { try write(register, value) }
    }

    func wait(_ seconds: Double) { clock.advance(bySeconds: seconds) }

    /// Wakes an MPU-6050 and sets rate, filter, ranges and FIFO contents, as a driver does.
    func start(
        divider: UInt8 = 4, lowPass: UInt8 = 3, gyroscope: UInt8 = 3, accelerometer: UInt8 = 2, fifo: UInt8? = nil
    ) throws {
        try write((0x19, divider), (0x1A, lowPass), (0x1B, gyroscope << 3), (0x1C, accelerometer << 3))
        if let fifo { try write((0x23, fifo), (0x6A, 0x04), (0x6A, 0x40)) }
        try write(0x6B, 0x01)
    }

    /// The count of an MPU-6050's FIFO, or another value of two bytes, high byte first.
    func fifoCount(_ register: UInt8 = 0x72) throws -> Int {
        let bytes = try read(register, count: 2)
        return Int(bytes[0]) << 8 | Int(bytes[1])
    }

    /// Reads everything in an MPU-6050's FIFO as 16-bit numbers.
    func drainFIFO() throws -> [Int] {
        let count = try fifoCount()
        return count > 0 ? words(try read(0x74, count: count & ~1)) : []
    }

    /// An MPU-6050's seven output words: accelerometer, temperature, gyroscope.
    func outputs() throws -> [Int] { words(try read(0x3B, count: 14)) }
}

extension VirtualBus {
    mutating func read(_ register: UInt8, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        var failure: BusError?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(BusError) { try read(register, into: buffer) } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }
}

/// Little-endian signed words.
func littleEndianWords(_ bytes: [UInt8]) -> [Int] {
    stride(from: 0, to: bytes.count - 1, by: 2).map {
        Int(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8))
    }
}

/// Big-endian signed words.
func words(_ bytes: [UInt8]) -> [Int] {
    stride(from: 0, to: bytes.count - 1, by: 2).map {
        Int(Int16(bitPattern: UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])))
    }
}

/// Constant readings, different on every axis: specific force in g and rates in °/s.
struct Steady: Trajectory {
    var force = Vector3(0.5, -0.25, 0.75)
    var rate = Vector3(100, -50, 25)
    var duration: Double { .infinity }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        TrueMotion(
            attitude: pose, rotationRate: radiansPerDegree * rate, specificForce: standardGravity * force)
    }
}

/// The specific force along x (m/s²) is the time, so the contents of a sample show when it was measured. The rate about
/// z is the same with another slope (rad/s²).
struct Ramp: Trajectory {
    var slope = 1.0
    var duration: Double { .infinity }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        TrueMotion(
            attitude: pose, rotationRate: Vector3(0, 0, slope * time), specificForce: Vector3(time, 0, 0))
    }
}
