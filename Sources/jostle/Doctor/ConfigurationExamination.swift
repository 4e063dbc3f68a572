internal import JostleConfiguration
internal import MotionKit

/// Examines a configuration that is valid: values without effect, and the files that it names.
enum ConfigurationExamination {
    static func findings(_ loaded: LoadedConfiguration, isOfService: Bool) -> [Finding] {
        let names = loaded.files.isEmpty ? "no file; the built-in defaults" : loaded.files.joined(separator: ", ")
        var findings: [Finding] = loaded.warnings.map {
            .warning(.configuration, "\($0)", "Correct it, then: sudo systemctl reload jostle")
        }
        let files = FileCheck(loaded, isOfService: isOfService)
        findings += files.errors.map { .failed(.secrets, "\($0)", [], status: .configuration) }
        findings += files.warnings.map { .unknown(.secrets, "\($0)") }
        do throws(SensorError) {
            try loaded.settings.sensorSelection.check(loaded.settings.imu)
        } catch {
            findings.append(.failed(.configuration, error.description(in: .agent), [], status: .configuration))
        }
        if let access = loaded.settings.unsignedAccess {
            findings.append(.warning(.configuration, access, "See docs/fleet.md: signed documents"))
        }
        if !findings.contains(where: { $0.examination == .configuration }) {
            findings.append(.ok(.configuration, names))
        }
        if !findings.contains(where: { $0.examination == .secrets }), loaded.settings.mqtt.namesSecrets {
            findings.append(
                .ok(.secrets, "\(isOfService ? "the service" : "this user") can read the files that it names"))
        }
        return findings
    }
}

extension JostleSettings.MQTT {
    /// Whether it names files of secrets or certificates.
    fileprivate var namesSecrets: Bool {
        [usernameFile, passwordFile, caFile, certificateFile, keyFile].contains { $0 != nil }
    }
}
