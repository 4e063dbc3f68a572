internal import Documents
internal import Glibc
internal import LinuxSystem

/// What has become of the upgrade to the version that the configuration asks for. The upgrade service writes it.
struct UpgradeStatus: Equatable, Sendable {
    enum State: String, Sendable {
        /// The service has not begun, or cannot get the package at present; it tries again.
        case waiting
        /// The package is being installed, or watched after that.
        case installing
        case installed
        /// The package did not work or cannot be installed, and the one before is installed.
        case failed
    }

    var state: State
    var wanted: String
    /// Why it failed or has to wait.
    var reason: String?
    /// How long it took, until the package worked or the one before was installed again.
    var seconds: Double?

    /// The file of the service: in memory, so that reading never waits for a disk. `$JOSTLE_UPGRADE_STATUS` names
    /// another one.
    static var path: String {
        getenv("JOSTLE_UPGRADE_STATUS").map { String(cString: $0) } ?? "/run/jostle-upgrade/status.json"
    }

    private static let maximumBytes = 4096

    /// The status of the wanted version; `waiting` if the service has not reported about it yet.
    static func read(wanted: String, at path: String) -> UpgradeStatus {
        var status = UpgradeStatus(state: .waiting, wanted: wanted)
        guard let text = FileContents.text(ofOptional: path, limit: maximumBytes),
            let tree = try? JSONReader.read(Array(text.utf8), source: .file(path)),
            tree["wanted"]?.text == wanted, let state = tree["state"]?.text.flatMap({ State(rawValue: $0) })
        else { return status }
        status.state = state
        status.reason = tree["reason"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        status.seconds = tree["seconds"]?.text.flatMap { Double($0) }
        return status
    }

    /// `upgrade to 0.5.0-1: failed: the service does not start`.
    var text: String { "upgrade to \(wanted): \(state)" + (reason.map { ": \($0)" } ?? "") }

    /// The member `upgrade` of the health report.
    var json: JSONObject {
        var object = JSONObject()
        object.add("state", state.rawValue)
        object.add("wanted", wanted)
        object.add("reason", reason)
        object.add("seconds", seconds, decimals: 0)
        return object
    }
}
