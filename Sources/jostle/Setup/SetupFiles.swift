internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

/// The files that `jostle setup` writes: a few lines beside the configuration, and the password.
struct SetupFiles {
    /// The name of the password's file.
    private static let passwordName = "mqtt-password"

    /// The configuration's directory.
    let directory: String

    /// The main file, which need not exist.
    var configuration: String { "\(directory)/jostle.yaml" }

    /// The file with the answers. A file whose name comes later overrides it.
    var answers: String { "\(directory)/conf.d/10-setup.yaml" }

    /// Whether it is the service's configuration.
    var isSystem: Bool { directory == "/etc/jostle" }

    var passwordFile: String {
        isSystem ? "\(directory)/credentials/\(Self.passwordName)" : "\(directory)/\(Self.passwordName)"
    }

    /// How the configuration names the password's file. systemd passes the service a copy.
    var passwordSetting: String { isSystem ? "credential:\(Self.passwordName)" : passwordFile }

    // MARK: Text

    /// The lines of a configuration with these values, as JSON texts, which are YAML too.
    static func text(_ values: [(key: String, value: String)]) -> String {
        var lines = [
            "# Written by `jostle setup`, which replaces this file when it runs again. Your own settings belong into",
            "# jostle.yaml, or into a file beside this one whose name comes later. jostle.reference.yaml has all keys.",
        ]
        var section = ""
        for (key, value) in values {
            let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
            if parts[0] != section {
                section = parts[0]
                lines.append("\(section):")
            }
            lines.append("  \(parts[1]): \(JSONText.quoted(value))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Writing

    /// Writes both files. If the configuration is then not valid, everything is as before.
    ///
    /// - Throws: status 73 if a file cannot be written, 78 with the problems of the configuration.
    func write(_ text: String, password: String?) throws(CommandFailure) -> LoadedConfiguration {
        let before = FileContents.text(ofOptional: answers, limit: 1 << 20)
        try write(text, to: answers, mode: isSystem ? 0o640 : 0o600, directoryMode: 0o755)
        if isSystem { giveToService(answers) }
        let loaded: LoadedConfiguration
        do throws(ConfigurationErrors) {
            loaded = try JostleSettings.load(file: configuration)
        } catch {
            if let before {
                // The file keeps its mode and its owner.
                try write(before, to: answers, mode: 0o600, directoryMode: 0o755)
            } else {
                unlink(answers)
            }
            throw CommandFailure(
                .configuration, lines: ["the answers do not fit the configuration; nothing was changed", "\(error)"])
        }
        if let password { try write(password + "\n", to: passwordFile, mode: 0o600, directoryMode: 0o700) }
        return loaded
    }

    private func write(_ text: String, to path: String, mode: UInt32, directoryMode: mode_t) throws(CommandFailure) {
        let parent = FileContents.parts(of: path).directory
        if !DirectoryContents.exists(parent) {
            FileContents.makeDirectories(parent)
            chmod(parent, directoryMode)
        }
        do throws(SystemFailure) {
            if access(path, F_OK) != 0 { try FileContents.create(path, with: [], mode: mode) }
            try FileContents.replace(path, with: Array(text.utf8))
        } catch {
            throw CommandFailure(error.code == EACCES ? .permission : .cannotCreate, "\(path): \(error)")
        }
    }

    /// The service's group may read the file, and nobody else.
    private func giveToService(_ path: String) {
        if let group = getgrnam("jostle") { chown(path, 0, group.pointee.gr_gid) }
    }
}
