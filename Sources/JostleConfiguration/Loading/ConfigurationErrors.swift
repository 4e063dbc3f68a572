package import LinuxSystem

/// Why a configuration was not loaded.
package enum ConfigurationErrors: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file could not be read: its path, and why open(2) or read(2) failed.
    case unreadable(path: String, SystemFailure)
    /// The file was read, but has these problems, in the order in which they occur in it.
    case invalid([ConfigurationProblem])

    /// One line per problem.
    package var description: String {
        switch self {
        case .unreadable(let path, let failure): "\(path): \(failure)"
        case .invalid(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}
