internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// What the boards of a swarm should be doing, and whom an order concerns.
///
/// It does not follow what the boards really do, so the same orders and the same seed concern the same boards.
struct SwarmModel: Equatable, Sendable {
    private struct Board: Equatable {
        var id: String
        var isStopped = false
        var isSensorDead = false
    }

    private var boards: [Board]
    private var numbers: [String: [Int]] = [:]
    /// The range of the ids, for an error.
    private let names: String
    private var chance: SwarmChance

    init(_ members: [SwarmMember], seed: UInt64) {
        boards = []
        names = members.count > 1 ? "\(members[0].id) … \(members[members.count - 1].id)" : members.first?.id ?? ""
        chance = SwarmChance(seed: seed, stream: 1)
        for member in members { add(member.id) }
    }

    /// The number of boards that are stopped by an order.
    var stopped: Int { boards.count { $0.isStopped } }

    /// The number of all boards, duplicates included.
    var count: Int { boards.count }

    /// Adds a board; one with the same id may exist.
    mutating func add(_ id: String) {
        numbers[id, default: []].append(boards.count)
        boards.append(Board(id: id))
    }

    /// The number of the first board with an id.
    func board(_ id: String) throws -> Int { try all(id)[0] }

    /// Whether a board is not stopped.
    func isUp(_ number: Int) -> Bool { !boards[number].isStopped }

    /// The boards that an order concerns, by number, from now on with the state that it gives them.
    ///
    /// - Throws: if there are not as many boards, or no such board, or it has that state already.
    mutating func apply(
        _ fault: SwarmOrder.Fault, to selection: SwarmOrder.Selection
    ) throws -> [Int] {
        let chosen: [Int]
        switch selection {
        case .board(let id):
            chosen = try all(id).filter { isEligible(boards[$0], for: fault) }
            if chosen.isEmpty { throw Failure(.usage, "\(fault.rawValue): \(id) is \(fault.obstacle)") }
        case .any(let count):
            let candidates = boards.indices.filter { isEligible(boards[$0], for: fault) }
            guard count <= candidates.count else {
                throw Failure(
                    .usage,
                    "\(fault.rawValue) \(count): only \(candidates.count) of \(boards.count) boards are not "
                        + fault.obstacle)
            }
            chosen = chance.choose(count, of: candidates)
        }
        for number in chosen {
            switch fault {
            case .die, .loseStore: break
            case .stop: boards[number].isStopped = true
            case .start: boards[number].isStopped = false
            case .killSensor: boards[number].isSensorDead = true
            }
        }
        return chosen
    }

    private func all(_ id: String) throws -> [Int] {
        guard let found = numbers[id] else {
            throw Failure(.usage, "there is no board \"\(id.prefix(80))\"; the boards are \(names)")
        }
        return found
    }

    private func isEligible(_ board: Board, for fault: SwarmOrder.Fault) -> Bool {
        switch fault {
        case .die, .loseStore, .stop: !board.isStopped
        case .start: board.isStopped
        case .killSensor: !board.isSensorDead
        }
    }
}

extension SwarmOrder.Fault {
    /// The state in which a board cannot have this fault.
    fileprivate var obstacle: String {
        switch self {
        case .die, .loseStore, .stop: "stopped"
        case .start: "started"
        case .killSensor: "without a working sensor"
        }
    }
}

/// Stands in for the sensor that a virtual board does not have: it lies still and counts samples, until it dies.
struct SwarmSensor: Equatable, Sendable {
    /// Samples per second.
    private let rate: Double
    /// The samples before it last began to deliver.
    private var earlierSamples = 0.0
    /// Since when it delivers; `nil` while it does not.
    private var start: Timestamp?
    private var isDead: Bool
    private var isDefective = false

    init(rate: Double, isDead: Bool, at now: Timestamp) {
        self.rate = rate
        self.isDead = isDead
        start = isDead ? nil : now
    }

    /// Whether it delivers samples.
    var delivers: Bool { start != nil }

    /// From now on it delivers nothing.
    mutating func die(at now: Timestamp) {
        isDead = true
        update(at: now)
    }

    /// It delivers nothing for as long as a defect lasts.
    mutating func setDefective(_ isDefective: Bool, at now: Timestamp) {
        self.isDefective = isDefective
        update(at: now)
    }

    private mutating func update(at now: Timestamp) {
        let delivers = !isDead && !isDefective
        guard delivers != self.delivers else { return }
        earlierSamples = sampleCount(at: now)
        start = delivers ? now : nil
    }

    private func sampleCount(at now: Timestamp) -> Double {
        earlierSamples + (start.map { max(0, now.seconds(since: $0) * rate) } ?? 0)
    }

    /// The samples that it has delivered since the board's start.
    func samples(at now: Timestamp) -> UInt64 { UInt64(sampleCount(at: now)) }

    /// The driver's state and counters.
    func status(at now: Timestamp) -> IMUStatus {
        var status = IMUStatus()
        status.state = delivers ? .streaming : .recovering
        status.samples = samples(at: now)
        status.period = 1 / rate
        return status
    }

    /// The state of a board that lies still.
    static func stillState(at now: Timestamp) -> MotionState {
        var state = MotionState()
        state.timestamp = now
        return state
    }
}
