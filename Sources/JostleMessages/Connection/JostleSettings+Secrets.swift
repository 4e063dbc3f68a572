package import JostleConfiguration
internal import LinuxSystem

extension JostleSettings {
    /// The secrets of a configuration, for a program that removes them from what it shows.
    package struct Secrets: Equatable, Sendable {
        /// The passwords.
        package var passwords: [String] = []
        /// The names of users.
        package var userNames: [String] = []
    }

    /// The user name, and what the files of user name and password contain, as far as this process may read them.
    package var secrets: Secrets {
        var secrets = Secrets()
        secrets.userNames = [mqtt.username, JostleSettings.text(mqtt.usernameFile, key: "username_file")]
            .compactMap { $0 }
        secrets.passwords = [JostleSettings.text(mqtt.passwordFile, key: "password_file")].compactMap { $0 }
        return secrets
    }

    private static func text(_ name: String?, key: String) -> String? {
        guard let name else { return nil }
        do throws(SecretFileError) {
            let path = try CredentialFiles().file(name, key: key)
            return FileContents.text(ofOptional: path, limit: 4096)
        } catch {
            return nil
        }
    }
}
