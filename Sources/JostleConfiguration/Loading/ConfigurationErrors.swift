package import LinuxSystem

/// Why a configuration was not loaded.
package enum ConfigurationErrors: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file could not be read: its path, and why open(2) or read(2) failed.
    case unreadable(path: String, SystemFailure)
    /// It was read, and this is wrong with it, in the order in which it stands there.
    case invalid([ConfigurationProblem])

    /// One line for every problem.
    package var description: String {
        switch self {
        case .unreadable(let path, let failure): "\(path): \(failure)"
        case .invalid(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
