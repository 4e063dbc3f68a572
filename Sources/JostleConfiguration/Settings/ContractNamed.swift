package import MotionCore

/// What has a name in topics, payloads, configuration and CSV files, on which other programs depend.
package protocol ContractNamed: CaseIterable, Equatable, Sendable {
    /// The contract name.
    var word: String { get }
}

extension ContractNamed {
    /// The value with this contract name; `nil` if there is none.
    package init?(word: String) {
        guard let value = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = value
    }
}

extension GesturePhase: ContractNamed {
    package var word: String {
        switch self {
        case .began: "began"
        case .changed: "changed"
        case .ended: "ended"
        case .cancelled: "cancelled"
        case .recognized: "recognized"
        }
    }
}

extension CancellationReason: ContractNamed {
    package var word: String {
        switch self {
        case .tooWeak: "too_weak"
        case .tooLong: "too_long"
        case .interrupted: "interrupted"
        case .sensorLost: "sensor_lost"
        case .disabled: "disabled"
        case .stopped: "stopped"
        case .restarted: "restarted"
        case .tooShort: "too_short"
        case .tilted: "tilted"
        }
    }
}

extension MotionDirection: ContractNamed {
    package var word: String {
        switch self {
        case .left: "left"
        case .right: "right"
        case .up: "up"
        case .down: "down"
        case .forward: "forward"
        case .backward: "backward"
        }
    }
}

extension BodyAxis: ContractNamed {
    package var word: String {
        switch self {
        case .x: "x"
        case .y: "y"
        case .z: "z"
        }
    }
}

extension BodySide: ContractNamed {
    package var word: String {
        switch self {
        case .plusX: "+x"
        case .minusX: "-x"
        case .plusY: "+y"
        case .minusY: "-y"
        case .plusZ: "+z"
        case .minusZ: "-z"
        }
    }
}

extension TapCounts {
    /// The contract names of one, two and three taps.
    package static let words = ["single", "double", "triple"]
}

extension MachineProfile: ContractNamed {
    package var word: String {
        switch self {
        case .auto: "auto"
        case .washer: "washer"
        case .dryer: "dryer"
        case .dishwasher: "dishwasher"
        case .printer: "printer"
        case .steady: "steady"
        }
    }
}

extension MachineClass: ContractNamed {
    package var word: String {
        switch self {
        case .none: "none"
        case .small: "small"
        case .mediumRigid: "medium_rigid"
        case .mediumFlexible: "medium_flexible"
        case .largeRigid: "large_rigid"
        case .largeFlexible: "large_flexible"
        }
    }
}

extension MachinePhase: ContractNamed {
    package static var allCases: [MachinePhase] { [.off, .running, .paused] }

    package var word: String {
        switch self {
        case .off: "off"
        case .running: "running"
        case .paused: "paused"
        }
    }
}

extension MachineStatement: ContractNamed {
    package var word: String {
        switch self {
        case .off: "off"
        case .running: "running"
        case .fine: "fine"
        }
    }
}
