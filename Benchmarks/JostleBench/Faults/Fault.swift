internal import MotionCore
internal import VirtualIMU

/// What may happen to a chip, its bus or its host while it is read.
enum Fault: String, CaseIterable {
    case oneNAK = "one NAK"
    case someNAKs = "1 % NAKs, 10 s"
    case shortNAKs = "NAKs, 0.1 s"
    case longNAKs = "NAKs, 5 s"
    case stuckBus = "stuck bus, 30 s"
    case adapterGone = "adapter gone, 10 s"
    case shortHostStall = "host stalls, 0.1 s"
    case hostStall = "host stalls, 4 s"
    case overflow = "FIFO overflow"
    case slip = "FIFO slips 4 bytes"
    case frozen = "frozen output, 5 s"
    case noSamples = "no samples, 5 s"
    case unplugged = "unplugged, 60 s"
    case brownOut = "brown-out"
    case wrongIdentity = "brown-out, then a wrong identity for 10 s"
    case brownOutAmidNAKs = "brown-out amid 1 s of NAKs"
    case brownOutAmidShortNAKs = "brown-out amid 0.1 s of NAKs"
    case resetBeforeData = "reset between count and data"
    case unpluggedInBringUp = "brown-out, unplugged for 5 s in bring-up"
    case onesRead = "all-ones reads, 1 s"
    case temperatureJump = "temperature jumps 30 °C"
    case fastOscillator = "oscillator 5 % fast"
    case slowOscillator = "oscillator 5 % slow"

    /// What must not be exceeded.
    struct Bounds {
        /// Seconds from the fault until the driver tells; `nil` where there is nothing to tell.
        var detection: Double?
        /// Seconds from the fault's end until a sample that was measured after it is handed on.
        var recovery = 0.1
        /// Sample periods without a sample outside the time that the fault holds.
        var lost = 0
    }

    /// Seconds that it holds; zero for what happens at an instant.
    var duration: Double {
        switch self {
        case .someNAKs, .adapterGone: 10
        case .shortNAKs, .brownOutAmidShortNAKs, .shortHostStall: 0.1
        case .longNAKs, .frozen, .noSamples: 5
        case .stuckBus: 30
        case .hostStall: 4
        case .unplugged: 60
        case .wrongIdentity: 10
        case .brownOutAmidNAKs, .onesRead: 1
        // Five seconds and the delay until the chip is being brought up.
        case .unpluggedInBringUp: 5.5
        case .oneNAK, .overflow, .slip, .brownOut, .resetBeforeData, .temperatureJump, .fastOscillator,
            .slowOscillator:
            0
        }
    }

    /// A chip that has to be brought up again is back within a pause between attempts, 0.2 s, and its start-up, 0.25 s.
    private static let bringUp = 0.5

    var bounds: Bounds {
        switch self {
        case .oneNAK: Bounds(detection: 0.1)
        case .someNAKs: Bounds(detection: 5)
        case .shortNAKs: Bounds(detection: 0.1)
        case .shortHostStall, .fastOscillator, .slowOscillator: Bounds()
        case .overflow: Bounds(detection: 0.1, recovery: 0.2, lost: 20)
        case .hostStall: Bounds(detection: 4.1, recovery: 0.2, lost: 20)
        case .temperatureJump: Bounds(recovery: 0.2, lost: 20)
        // At an instant at which the FIFO is empty nothing slips.
        case .slip: Bounds(recovery: 0.2, lost: 20)
        // An adapter gives a stuck bus up after a second: the first to know, and the last to notice that it is over.
        case .stuckBus: Bounds(detection: 1.1, recovery: 1 + Fault.bringUp, lost: Int(200 * (1 + Fault.bringUp)))
        case .longNAKs, .adapterGone, .unplugged, .wrongIdentity, .unpluggedInBringUp, .brownOutAmidNAKs, .onesRead,
            .noSamples, .frozen:
            Bounds(detection: 1, recovery: Fault.bringUp, lost: Int(200 * Fault.bringUp))
        case .brownOut, .resetBeforeData, .brownOutAmidShortNAKs:
            Bounds(detection: 1, recovery: Fault.bringUp, lost: Int(200 * Fault.bringUp))
        }
    }

    /// What happens between the driver's reading the FIFO's count and its data.
    var ambush: FaultEvent? { self == .resetBeforeData ? .brownOut : nil }

    /// What happens to the FIFO while nobody reads it. In the third of a millisecond between count and data, and without an
    /// error of the bus, only tags, headers and temperature would tell.
    var betweenPolls: FaultEvent? {
        switch self {
        case .overflow: .fifoOverflow
        case .slip: .fifoSlip(bytes: 4)
        default: nil
        }
    }

    /// By how much longer than nominal the chip's true period is, parts per million.
    var oscillatorError: Double {
        switch self {
        case .fastOscillator: -50_000
        case .slowOscillator: 50_000
        default: 12_000
        }
    }

    /// Whether the host does not get to poll while it holds.
    var stallsHost: Bool { self == .shortHostStall || self == .hostStall }

    /// Puts it on a chip, from `start` on; `chance` from 0 to 1 decides what is left open.
    func strike(_ chip: any FaultyChip, at start: Timestamp, chance: Double) {
        func hold(_ condition: FaultCondition, after delay: Double = 0, for seconds: Double? = nil) {
            chip.inject(
                condition, from: start.advanced(bySeconds: delay), lasting: .seconds(seconds ?? duration))
        }
        switch self {
        case .oneNAK: chip.inject(.notAcknowledged, from: start, lasting: .transactions(1))
        case .someNAKs: hold(.randomlyNotAcknowledged(probability: 0.01))
        case .shortNAKs, .longNAKs: hold(.notAcknowledged)
        case .stuckBus: hold(.stuckBus)
        case .adapterGone: hold(.adapterAbsent)
        case .frozen: hold(.frozenOutput)
        case .noSamples: hold(.stalled)
        case .unplugged: hold(.unplugged)
        case .brownOut: chip.inject(.brownOut, at: start)
        case .wrongIdentity:
            chip.inject(.brownOut, at: start)
            hold(.wrongIdentity(0x33))
        case .brownOutAmidNAKs, .brownOutAmidShortNAKs:
            hold(.notAcknowledged)
            chip.inject(.brownOut, at: start.advanced(bySeconds: chance * duration))
        case .unpluggedInBringUp:
            chip.inject(.brownOut, at: start)
            let delay = 0.1 + 0.3 * chance
            hold(.unplugged, after: delay, for: duration - delay)
        case .onesRead: hold(.onesRead)
        case .temperatureJump: chip.inject(.temperatureJump(by: 30), at: start)
        case .shortHostStall, .hostStall, .overflow, .slip, .resetBeforeData, .fastOscillator, .slowOscillator: break
        }
    }
}
