internal import LinuxSystem
public import MotionCore

/// The reference attitude that is kept between two runs, in a file of a state directory; the policy `.stored` begins with it.
///
/// A manager that runs keeps it by itself. This is for programs that find out a reference otherwise.
public struct ReferenceStore: Sendable {
    private let directory: StateDirectory

    /// The reference in a state directory, which need not exist yet.
    public init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory)
    }

    /// The reference that is kept, or `nil` where there is none that can be read.
    public func load() -> Quaternion? { directory.loadReference() }

    /// Keeps a reference, or forgets the one that is kept.
    ///
    /// - Throws: the errno of what failed; the old one is then still kept.
    public func save(_ attitude: Quaternion?) throws(ReferenceStoreError) {
        let code = directory.saveReference(attitude)
        guard code == 0 else { throw ReferenceStoreError(path: directory.path, code: code) }
    }
}

/// Why a reference attitude cannot be kept.
public struct ReferenceStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The state directory.
    public var path: String

    /// The errno.
    public var code: Int32

    public var description: String { "\(path): cannot be written: \(systemMessage(code))" }
}
