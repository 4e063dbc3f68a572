internal import Glibc
internal import JostleAgent
internal import LinuxSensors
internal import LinuxSystem

/// Examines the state directory: whether the agent may write to it, and whether another agent has it.
enum StateExamination {
    static func findings(
        _ directory: String, reader: FileReader, unit: ServiceUnit?
    ) -> [Finding] {
        guard DirectoryContents.exists(directory) else {
            guard unit == nil else {
                return [
                    .warning(
                        .state, "\(directory) is not there; the service creates it when it starts",
                        "sudo systemctl restart \(unit?.name ?? "jostle")")
                ]
            }
            return [.ok(.state, "\(directory) will be created at the first start")]
        }
        switch reader.obstacle(toOpening: directory, isDirectory: true) {
        case .refused(let reason):
            let owner = reader.name.map { "\($0):\($0)" } ?? "$USER"
            return [
                .failed(
                    .state, "\(directory): \(reason)",
                    ["sudo chown -R \(owner) \(directory)", "sudo chmod u+rwx \(directory)"], status: .permission)
            ]
        case .unknown(let reason):
            return [.unknown(.state, "\(directory): \(reason)", "sudo jostle doctor")]
        case nil: break
        }
        return [finding(of: StateDirectoryLock.holder(of: directory), directory, unit: unit)]
    }

    /// Who uses the directory now.
    static func finding(of holder: ChipLock.Holder?, _ directory: String, unit: ServiceUnit?) -> Finding {
        guard let holder else { return .ok(.state, "\(directory) can be written") }
        guard let unit, let process = unit.process, let other = holder.processIdentifier, process != other else {
            return .ok(.state, "\(directory) can be written; \(holder) uses it")
        }
        return .failed(
            .state, "\(holder) uses \(directory), so that \(unit.name) cannot start", ["sudo kill \(other)"])
    }
}
