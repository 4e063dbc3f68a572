internal import JostleConfiguration
internal import LinuxSystem

/// The ids and groups of a fleet, kept in a file for the completion of the shell and to know the boards again, with those
/// that were enrolled on this machine.
package struct FleetNames: Equatable, Sendable {
    package var ids: [String] = []
    package var groups: [String] = []
    package private(set) var enrolled: Set<String> = []

    private static let fileName = "fleet-names"
    private static let maximumBytes = 4 << 20

    /// The names that were last kept; none if there is no such file.
    package init(stateDirectory: String) {
        let path = "\(stateDirectory)/\(FleetNames.fileName)"
        let text = FileContents.text(ofOptional: path, limit: FleetNames.maximumBytes) ?? ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2, JostleSettings.Device.isID(words[1]) else { continue }
            switch words[0] {
            case "id": ids.append(words[1])
            case "enrolled": enrolled.insert(words[1])
            default: groups.append(words[1])
            }
        }
    }

    /// Keeps the names of a fleet, unless some are left out.
    package static func keep(_ model: FleetModel, stateDirectory: String) {
        guard model.leftOut.boards == 0 else { return }
        change(stateDirectory) { names in
            names.ids = model.allBoards.map(\.id)
            names.groups = model.groups
        }
    }

    /// Keeps that a board is enrolled, or no longer.
    package static func keep(_ id: String, isEnrolled: Bool, stateDirectory: String) {
        change(stateDirectory) { names in
            if isEnrolled { names.enrolled.insert(id) } else { names.enrolled.remove(id) }
        }
    }

    /// Changes the file. A failure is not reported: only the completion and the order of the boards suffer.
    private static func change(_ stateDirectory: String, _ change: (inout FleetNames) -> Void) {
        let old = FleetNames(stateDirectory: stateDirectory)
        var names = old
        change(&names)
        guard names != old else { return }
        FileContents.makeDirectories(stateDirectory)
        let lines =
            names.ids.map { "id \($0)\n" } + names.groups.map { "group \($0)\n" }
            + names.enrolled.sorted().map { "enrolled \($0)\n" }
        do {
            try FileContents.replace("\(stateDirectory)/\(fileName)", with: Array(lines.joined().utf8))
        } catch {}
    }
}

extension KnownDevices {
    /// What the state directory of a user holds of a fleet.
    package init(stateDirectory: String, _ history: DocumentHistory) {
        let names = FleetNames(stateDirectory: stateDirectory)
        known = history.devices.union(names.enrolled)
        seen = Set(names.ids)
    }
}
