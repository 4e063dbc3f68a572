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

    init(_ places: [SwarmPlace], seed: UInt64) {
        boards = []
        names = places.count > 1 ? "\(places[0].id) … \(places[places.count - 1].id)" : places.first?.id ?? ""
        chance = SwarmChance(seed: seed, stream: 1)
        for place in places { add(place.id) }
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
    func board(_ id: String) throws(SwarmOrderError) -> Int { try all(id)[0] }

    /// Whether a board is not stopped.
    func isUp(_ number: Int) -> Bool { !boards[number].isStopped }

    /// The boards that an order concerns, by number, from now on with the state that it gives them.
    ///
    /// - Throws: if there are not as many boards, or no such board, or it has that state already.
    mutating func apply(
        _ fault: SwarmOrder.Fault, to selection: SwarmOrder.Selection
    ) throws(SwarmOrderError) -> [Int] {
        let chosen: [Int]
        switch selection {
        case .board(let id):
            chosen = try all(id).filter { isEligible(boards[$0], for: fault) }
            if chosen.isEmpty { throw SwarmOrderError("\(fault.rawValue): \(id) is \(fault.obstacle)") }
        case .any(let count):
            let candidates = boards.indices.filter { isEligible(boards[$0], for: fault) }
            guard count <= candidates.count else {
                throw SwarmOrderError(
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

    private func all(_ id: String) throws(SwarmOrderError) -> [Int] {
        guard let found = numbers[id] else {
            throw SwarmOrderError("there is no board \"\(id.prefix(80))\"; the boards are \(names)")
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
