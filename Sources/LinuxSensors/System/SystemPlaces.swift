/// The locations of the system's files; tests use others.
package struct SystemPlaces: Equatable, Sendable {
    /// The directory of device files.
    package var devices: String
    /// The mount point of sysfs.
    package var system: String

    /// Creates the locations; by default those of every Linux system.
    package init(devices: String = "/dev", system: String = "/sys") {
        self.devices = devices
        self.system = system
    }
}
