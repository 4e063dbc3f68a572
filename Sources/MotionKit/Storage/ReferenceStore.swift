package import LinuxSystem
package import MotionCore
package import StateStorage
internal import Synchronization

/// The reference attitude that is stored in a state directory between runs, and with which the policy `.stored` starts.
///
/// A running manager saves it by itself. This type is for programs that determine a reference in another way.
package struct ReferenceStore: Sendable {
    private let directory: StateDirectory

    /// The reference in a state directory, which need not exist yet.
    package init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory)
    }

    private static let file = "reference-attitude"
    private static let title = "jostle reference attitude 1"

    /// The file, whether it exists or not.
    var path: String { directory.path(of: ReferenceStore.file) }

    /// The stored reference, or `nil` if there is none that can be read. A change that `writer` has not written yet takes
    /// precedence.
    package func load(pendingIn writer: StateWriter? = nil) -> Quaternion? {
        guard case .text(let text) = directory.read(ReferenceStore.file, pendingIn: writer) else { return nil }
        // Without its last line feed, the file is incomplete, and its last number may be cut off.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == ReferenceStore.title, lines[2].isEmpty else { return nil }
        let fields = lines[1].split(separator: " ")
        let numbers = fields.compactMap { Double($0) }
        guard fields.count == 4, numbers.count == 4 else { return nil }
        let attitude = Quaternion(numbers[0], numbers[1], numbers[2], numbers[3])
        guard abs(attitude.normSquared - 1) < 1e-3 else { return nil }
        return attitude.normalized
    }

    /// Saves a reference, or removes the stored one if `nil`, and returns once that is on the disk.
    ///
    /// - Throws: `ReferenceStoreError`; the old reference then remains.
    package func save(_ attitude: Quaternion?) throws(ReferenceStoreError) {
        do {
            if let attitude {
                try directory.write(ReferenceStore.text(of: attitude), to: ReferenceStore.file)
            } else {
                try directory.remove(ReferenceStore.file)
            }
        } catch {
            throw ReferenceStoreError(path: directory.path, failure: error)
        }
    }

    /// The content of the file.
    static func text(of attitude: Quaternion) -> String {
        "\(title)\n\(attitude.w) \(attitude.x) \(attitude.y) \(attitude.z)\n"
    }
}

/// Why a reference attitude cannot be saved.
package struct ReferenceStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The state directory.
    package var path: String

    package var failure: SystemFailure

    package var description: String { "\(path): cannot be written: \(failure)" }
}

/// Saves the reference attitude of the policy `.stored` while a manager runs.
final class ReferenceSaver: Sendable {
    private let store: ReferenceStore?
    private let writer: StateWriter
    private let latest: Mutex<Quaternion?>

    /// Loads the stored reference; without a store nothing is loaded or saved.
    init(store: ReferenceStore?, writer: StateWriter) {
        self.store = store
        self.writer = writer
        latest = Mutex(store?.load(pendingIn: writer))
    }

    /// The reference that was last loaded or saved.
    var attitude: Quaternion? { latest.withLock { $0 } }

    /// Saves a reference, or removes it if `nil`. Does not wait for the disk.
    func save(_ attitude: Quaternion?) {
        guard let store else { return }
        latest.withLock { latest in
            latest = attitude
            // Under the lock, so that the writer's last job has the latest reference.
            writer.write(attitude.map { Array(ReferenceStore.text(of: $0).utf8) }, to: store.path)
        }
    }
}
