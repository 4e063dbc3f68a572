internal import JostleConfiguration
package import JostleMessages

/// Names one of a fleet's documents: a layer, or the groups of a device.
package enum FleetDocumentID: Hashable, Sendable {
    /// The layer of all devices.
    case all
    /// The layer of a group.
    case group(String)
    /// The layer of one device.
    case device(String)
    /// The groups of one device.
    case registry(String)

    /// The name for people and in JSON: `all`, `group:laundry`, `device:washer-1`, `registry:washer-1`.
    package var text: String {
        switch self {
        case .all: "all"
        case .group(let name): "group:\(name)"
        case .device(let id): "device:\(id)"
        case .registry(let id): "registry:\(id)"
        }
    }

    /// The document with this name; `nil` if there is none.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, JostleSettings.Device.isID(parts[1]) else {
            guard text == "all" else { return nil }
            self = .all
            return
        }
        switch parts[0] {
        case "group": self = .group(parts[1])
        case "device": self = .device(parts[1])
        case "registry": self = .registry(parts[1])
        default: return nil
        }
    }

    /// The document on a topic; `nil` if it is none of the fleet's.
    package init?(topic: String, _ topics: FleetTopics) {
        switch topics.content(of: topic) {
        case .layer(.all, _): self = .all
        case .layer(.group(let name), _): self = .group(name)
        case .layer(.device, let id?): self = .device(id)
        case .registry(let id): self = .registry(id)
        case .layer(.device, nil), nil: return nil
        }
    }

    /// The layer of a report of the device `id`.
    package init(_ layer: LayerName, of id: String) {
        switch layer {
        case .all: self = .all
        case .group(let name): self = .group(name)
        case .device: self = .device(id)
        }
    }

    /// The topic on which it is retained.
    package func topic(_ topics: FleetTopics) -> String {
        switch self {
        case .all: topics.all
        case .group(let name): topics.group(name)
        case .device(let id): topics.desired(id)
        case .registry(let id): topics.registry(id)
        }
    }

    /// The device whose layer or groups it is; `nil` for the other layers.
    package var device: String? {
        switch self {
        case .all, .group: nil
        case .device(let id), .registry(let id): id
        }
    }

    /// The layer's name in a device's report; `nil` for the groups of a device.
    package var layer: LayerName? {
        switch self {
        case .all: .all
        case .group(let name): .group(name)
        case .device: .device
        case .registry: nil
        }
    }
}

extension FleetDocumentID: Comparable {
    /// Lowest layer first.
    package static func < (one: FleetDocumentID, other: FleetDocumentID) -> Bool {
        one.rank == other.rank ? one.text < other.text : one.rank < other.rank
    }

    private var rank: Int {
        switch self {
        case .all: 0
        case .group: 1
        case .device: 2
        case .registry: 3
        }
    }
}
