/// The services that `make install` and the package install: jostle.service, and an instance for each further file.
enum InstalledService {
    /// The name of the service that reads a file: jostle for /etc/jostle/jostle.yaml, and the instance left for
    /// /etc/jostle/left.yaml; `nil` for a file that no service reads.
    static func name(reading file: String) -> String? {
        let directory = "/etc/jostle/"
        guard file.hasPrefix(directory), file.hasSuffix(".yaml") else { return nil }
        let name = file.dropFirst(directory.count).dropLast(".yaml".count)
        return name.isEmpty || name.contains("/") ? nil : String(name)
    }

    /// Its state directory: /var/lib/jostle, and /var/lib/jostle/left for the instance left.
    static func stateDirectory(_ name: String) -> String {
        name == "jostle" ? "/var/lib/jostle" : "/var/lib/jostle/\(name)"
    }

    /// Its unit: jostle.service, and jostle@left.service for the instance left.
    static func unit(_ name: String) -> String { name == "jostle" ? "jostle.service" : "jostle@\(name).service" }
}
