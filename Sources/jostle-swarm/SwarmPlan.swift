internal import JostleAgent
internal import JostleConfiguration
internal import JostleRuntime

/// What a swarm consists of, and what happens in it by itself.
struct SwarmOptions: Equatable, Sendable {
    /// The number of boards.
    var devices: Int
    /// The beginning of each board's id.
    var idPrefix = "swarm"
    /// The groups that the boards are put into in turn; none by default.
    var groups: [String] = []
    /// Boards that start to connect per second. Default 500.
    var connectRate = 500.0
    /// Threads that drive the boards. Default 2.
    var workers = 2
    /// Shakes per minute, of all boards together, once all have started. Default 0.
    var eventsPerMinute = 0.0
    /// Deaths per minute, of all boards together, once all have started. Default 0.
    var deathsPerMinute = 0.0
    /// Seconds from a death to the next start. Default 5.
    var deathPause = 5.0
    /// What settings do to a part of the boards. None by default.
    var defects: [SwarmDefect] = []
    /// The same seed makes the same random choices.
    var seed: UInt64 = 1
    /// Whether the boards' own log lines are written, at the configured level; otherwise only a few errors are.
    var isVerbose = false

    /// Whether boards can shake.
    var hasEvents: Bool { eventsPerMinute > 0 || defects.contains { $0.kind == .shake } }
}

/// A board of a swarm: its names, and where its state is.
struct SwarmMember: Equatable, Sendable {
    var id: String
    var groups: [String]
    /// The board's own state directory.
    var directory: String
    /// What settings do to this board.
    var defects: [SwarmDefect] = []

    /// All boards of a swarm: `<prefix>-0001` and so on, the groups in turn, each directory below `root`.
    static func all(_ options: SwarmOptions, below root: String) -> [SwarmMember] {
        let defective = options.defects.enumerated().map { number, defect in
            defect.boards(of: options.devices, seed: options.seed, stream: 100 + UInt64(number))
        }
        return (0..<options.devices).map { index in
            let id = "\(options.idPrefix)-\(SwarmMember.number(index + 1))"
            let groups = options.groups
            return SwarmMember(
                id: id, groups: groups.isEmpty ? [] : [groups[index % groups.count]], directory: "\(root)/\(id)",
                defects: zip(options.defects, defective).filter { $0.1.contains(index) }.map(\.0))
        }
    }

    /// A second board with the same id and a state directory of its own, as from a copied memory card.
    var duplicate: SwarmMember {
        SwarmMember(id: id, groups: groups, directory: "\(directory).duplicate", defects: defects)
    }

    /// The configuration of this board.
    func configuration(upon base: LoadedConfiguration) -> LoadedConfiguration {
        var configuration = base
        configuration.settings.device.id = id
        configuration.settings.device.groups = groups
        return configuration
    }

    private static func number(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// What all boards of a worker share.
struct SwarmContext {
    let configuration: LoadedConfiguration
    let version: String
    let storage: SwarmStorage
    let tally: SwarmTally
    /// Whether the boards have an outbox.
    let hasOutbox: Bool
    /// Seconds from a death to the next start.
    let deathPause: Double
    /// The boards in this process.
    let boards: Int
    let log: Log
    let isVerbose: Bool

    /// A board's share of the processor time that this process has used, s.
    var processorTime: Double { ProcessUsage.processorTime / Double(max(1, boards)) }
}
