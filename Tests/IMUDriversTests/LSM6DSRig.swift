import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// An LSM6DS driver on a scripted bus. The chip samples at its nominal 208 Hz.
final class LSM6DSRig: ScriptedChipRig<LSM6DSFamily> {
    static let period = 1.0 / 208

    let identity: UInt8
    private var started = Timestamp(nanoseconds: 0)
    private var taken = 0
    private var healthDue = Timestamp(nanoseconds: .max)
    private var healthGroup = 0
    private var temperatureDue = Timestamp(nanoseconds: .max)

    init(_ identity: UInt8) {
        self.identity = identity
        super.init()
    }

    var isTagged: Bool { isTaggedLSM6DS(identity) }

    /// Frames that the chip has put into the FIFO since the driver's last read.
    var due: Int { Int((clock.now().seconds(since: started) / Self.period + 1e-6).rounded(.down)) - taken }

    /// Advances the clock to the driver's next poll, and expects the due transactions other than the FIFO's.
    func advance(lateBy seconds: Double = 0) {
        clock.advance(to: next.advanced(bySeconds: seconds))
        if clock.now() >= temperatureDue {
            script.read(0x20, identity == 0x69 ? [0xF0, 0xFF] : [0x00, 0xFF])
            temperatureDue = clock.now().advanced(bySeconds: 1)
        }
        if clock.now() >= healthDue {
            // A late check is of as many groups as have been due.
            for _ in 0..<min(4, 1 + Int((10 * clock.now().seconds(since: healthDue)).rounded())) {
                script.expectHealth(healthGroup % 4, of: identity)
                healthGroup += 1
            }
            healthDue = clock.now().advanced(bySeconds: 0.1)
        }
    }

    /// Expects a count and the read of `frames`.
    func expectFIFO(_ frames: [LSM6DSFrame]) {
        expectCount(frames.count)
        guard !frames.isEmpty else { return }
        var bytes: [UInt8] = []
        for (index, frame) in frames.enumerated() {
            bytes += isTagged ? frame.tagged(slot: UInt8((taken + index) & 3)) : frame.untagged
        }
        script.read(isTagged ? 0x78 : 0x3E, bytes)
        script.expectRanges(of: identity)
        taken += frames.count
    }

    /// Expects a read of the count, which returns the words of this many frames.
    func expectCount(_ frames: Int, flags: UInt8 = 0, pattern: UInt8 = 0) {
        let words = frames * (isTagged ? 2 : 6)
        let empty: UInt8 = words == 0 && !isTagged ? 0x10 : 0
        let status = [UInt8(words & 0xFF), UInt8(words >> 8) | flags | empty]
        script.read(0x3A, isTagged ? status : status + [pattern, 0])
    }

    /// Expects the FIFO to be emptied.
    func expectFIFOStart() {
        script.expectFIFOStart(of: identity)
        started = clock.now()
        taken = 0
    }

    /// Expects and performs the polls that bring the chip up to settling.
    func bringUp() {
        script.expectIdentification(identity)
        poll()
        script.expectConfiguration(of: identity)
        poll()
        script.expectFIFOStart(of: identity)
        script.read(0x0A, isTagged ? 0x06 : 0x2E)
        poll()
        started = clock.now()
        taken = 0
        healthDue = started.advanced(bySeconds: 0.1)
        healthGroup = 0
        temperatureDue = started
    }

    /// Brings the chip up and runs until samples arrive.
    func stream() {
        bringUp()
        while samples.isEmpty && !script.hasFailed {
            advance()
            expectFIFO(LSM6DSFrame.run(due))
            pollNow()
        }
    }
}

/// Whether the part with this identity has a FIFO of tagged words.
func isTaggedLSM6DS(_ identity: UInt8) -> Bool { identity == 0x6B || identity == 0x6C }

/// A frame of raw values: distinct on every axis, some negative.
struct LSM6DSFrame {
    var acceleration: (Int16, Int16, Int16) = (1000, -2000, 4096)
    var rotation: (Int16, Int16, Int16) = (-164, 328, -820)

    private static func bytes(_ values: (Int16, Int16, Int16)) -> [UInt8] {
        [values.0, values.1, values.2].flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
        }
    }

    /// Gyroscope, then accelerometer.
    var untagged: [UInt8] { Self.bytes(rotation) + Self.bytes(acceleration) }

    /// The same with the tags of a time slot, or in reverse order.
    func tagged(slot: UInt8, isReversed: Bool = false) -> [UInt8] {
        let gyroscope = [0x01 << 3 | slot << 1] + Self.bytes(rotation)
        let accelerometer = [0x02 << 3 | slot << 1] + Self.bytes(acceleration)
        return isReversed ? accelerometer + gyroscope : gyroscope + accelerometer
    }

    /// Frames whose x values differ in the lowest bits, as with noise.
    static func run(_ count: Int) -> [LSM6DSFrame] {
        (0..<count).map { LSM6DSFrame(acceleration: (1000 + Int16($0 % 100), -2000, 4096)) }
    }
}

extension BusScript {
    /// WHO_AM_I, and the reset command.
    func expectIdentification(_ identity: UInt8) {
        read(0x0F, identity)
        write(0x12, 0x05)
    }

    /// The reset is done. Every register is written and read back, the sensors last.
    func expectConfiguration(of identity: UInt8) {
        read(0x12, 0x04)
        let isTagged = isTaggedLSM6DS(identity)
        var registers: [(UInt8, UInt8)] = [
            (0x12, 0x44), (0x13, identity == 0x69 ? 0x08 : 0x0A), (0x14, 0), (0x15, 0), (0x16, 0), (0x17, 0),
            isTagged ? (0x09, 0x55) : (0x08, 0x09), (0x11, 0x5C), (0x10, 0x5C),
        ]
        if isTagged { registers.append((0x18, 0xE2)) }
        for (register, value) in registers {
            write(register, value)
            read(register, value)
        }
    }

    /// The FIFO is switched off and on.
    func expectFIFOStart(of identity: UInt8) {
        write(0x0A, 0)
        if isTaggedLSM6DS(identity) { read(0x3B, 0x00) }
        write(0x0A, isTaggedLSM6DS(identity) ? 0x06 : 0x2E)
    }

    /// The check of the ranges, with the correct content, that precedes the delivery of frames.
    func expectRanges(of identity: UInt8) {
        if identity == 0x6C { read(0x17, 0) }
        read(0x10, [0x5C, 0x5C])
    }

    /// One group of the health check, with the correct content.
    func expectHealth(_ group: Int, of identity: UInt8) {
        let isTagged = isTaggedLSM6DS(identity)
        switch group {
        case 0: read(0x10, [0x5C, 0x5C, 0x44, identity == 0x69 ? 0x08 : 0x0A])
        case 1 where isTagged: read(0x07, [0, 0, 0x55, 0x06])
        case 1: read(0x06, [0, 0, 0x09, 0])
        case 2: read(0x14, [0, 0, 0, 0])
        case 3 where isTagged: read(0x18, 0xE2)
        default: read(0x0A, 0x2E)
        }
    }
}
