internal import Glibc

/// The system calls needed to find a configuration.
enum SystemCall {
    /// Whether a file exists at `path`, readable or not (access(2)).
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// An environment variable (getenv(3)).
    static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
