internal import JostleConfiguration
internal import LinuxSystem

/// The ids and groups of a fleet, kept in a file for the completion of the shell.
package struct FleetNames: Equatable, Sendable {
    package var ids: [String]
    package var groups: [String]

    private static let fileName = "fleet-names"
    private static let maximumBytes = 4 << 20

    /// The names of a fleet.
    package init(_ model: FleetModel) {
        ids = model.allBoards.map(\.id)
        groups = model.groups
    }

    /// The names that were last kept; none if there is no such file.
    package init(stateDirectory: String) {
        let path = "\(stateDirectory)/\(FleetNames.fileName)"
        let text = FileContents.text(ofOptional: path, limit: FleetNames.maximumBytes) ?? ""
        (ids, groups) = ([], [])
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2, JostleSettings.Device.isID(words[1]) else { continue }
            if words[0] == "id" { ids.append(words[1]) } else { groups.append(words[1]) }
        }
    }

    /// Keeps the names. A failure is not reported: only the completion lacks them.
    package func keep(stateDirectory: String) {
        guard self != FleetNames(stateDirectory: stateDirectory) else { return }
        FileContents.makeDirectories(stateDirectory)
        let lines = ids.map { "id \($0)\n" } + groups.map { "group \($0)\n" }
        do {
            try FileContents.replace("\(stateDirectory)/\(FleetNames.fileName)", with: Array(lines.joined().utf8))
        } catch {}
    }
}
