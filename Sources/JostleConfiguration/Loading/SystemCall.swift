internal import Glibc

/// The few questions to the system that finding a configuration takes.
enum SystemCall {
    /// Whether something stands at `path`, readable or not; stands for access(2).
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// A variable of the environment; stands for getenv(3).
    static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
