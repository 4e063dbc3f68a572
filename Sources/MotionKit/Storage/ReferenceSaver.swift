internal import MotionCore
internal import StateStorage
internal import Synchronization

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
