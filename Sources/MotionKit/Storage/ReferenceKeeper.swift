internal import MotionCore
internal import StateStorage
internal import Synchronization

/// The reference attitude of the policy `.stored` while a manager runs: as it was found at the start, or kept since.
final class ReferenceKeeper: Sendable {
    private let store: ReferenceStore?
    private let writer: StateWriter
    private let latest: Mutex<Quaternion?>

    /// Loads what is kept; without a store nothing is.
    init(store: ReferenceStore?, writer: StateWriter) {
        self.store = store
        self.writer = writer
        latest = Mutex(store?.load(pendingIn: writer))
    }

    /// The reference that is kept.
    var attitude: Quaternion? { latest.withLock { $0 } }

    /// Keeps another reference, or none. Does not wait for the disk.
    func keep(_ attitude: Quaternion?) {
        guard let store else { return }
        latest.withLock { latest in
            latest = attitude
            // Ordered under the lock, so that the writer's last is the latest.
            writer.write(attitude.map { Array(ReferenceStore.text(of: $0).utf8) }, to: store.path)
        }
    }
}
