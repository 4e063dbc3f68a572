internal import JostleConfiguration

/// A layer of a fleet's configuration.
package enum LayerName: Hashable, Sendable {
    /// Of all devices.
    case all
    /// Of the devices of a group.
    case group(String)
    /// Of one device.
    case device

    /// The name in reports: `all`, `group:laundry` or `device`.
    package var text: String {
        switch self {
        case .all: "all"
        case .group(let name): "group:\(name)"
        case .device: "device"
        }
    }

    /// The layer with this name in reports; `nil` if there is none.
    package init?(_ text: String) {
        switch text {
        case "all": self = .all
        case "device": self = .device
        default:
            guard text.hasPrefix("group:") else { return nil }
            let name = String(text.dropFirst("group:".count))
            guard JostleSettings.Device.isID(name) else { return nil }
            self = .group(name)
        }
    }
}

/// The topics of a fleet's configuration under a prefix. All are retained.
package struct FleetTopics: Equatable, Sendable {
    package let prefix: String

    package init(prefix: String) {
        self.prefix = prefix
    }

    /// The layer of all devices.
    package var all: String { "\(prefix)/_all/config" }

    /// The layer of a group; `+` as its name is a filter for all groups.
    package func group(_ name: String) -> String { "\(prefix)/_group/\(name)/config" }

    /// The layer of one device.
    package func desired(_ id: String) -> String { "\(prefix)/\(id)/config/desired" }

    /// The groups of a device.
    package func registry(_ id: String) -> String { "\(prefix)/_registry/\(id)" }

    /// What a device reports.
    package func reported(_ id: String) -> String { "\(prefix)/\(id)/config/reported" }

    /// A layer's topic for the device `id`.
    package func topic(of layer: LayerName, for id: String) -> String {
        switch layer {
        case .all: all
        case .group(let name): group(name)
        case .device: desired(id)
        }
    }

    /// What a topic of the fleet holds.
    package enum Content: Equatable, Sendable {
        /// A layer; for `device` with the device's id.
        case layer(LayerName, id: String?)
        /// The groups of the device.
        case registry(id: String)
    }

    /// What a topic holds; `nil` if it is none of the fleet's.
    package func content(of topic: String) -> Content? {
        guard topic.hasPrefix("\(prefix)/") else { return nil }
        let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
            .map(String.init)
        switch levels.count {
        case 2 where levels[0] == "_all" && levels[1] == "config": return .layer(.all, id: nil)
        case 2 where levels[0] == "_registry" && JostleSettings.Device.isID(levels[1]): return .registry(id: levels[1])
        case 3 where levels[0] == "_group" && levels[2] == "config" && JostleSettings.Device.isID(levels[1]):
            return .layer(.group(levels[1]), id: nil)
        case 3 where levels[1] == "config" && levels[2] == "desired" && JostleSettings.Device.isID(levels[0]):
            return .layer(.device, id: levels[0])
        default: return nil
        }
    }
}
