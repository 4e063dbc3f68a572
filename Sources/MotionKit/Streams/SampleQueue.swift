internal import LinuxSystem
package import MotionCore
internal import Synchronization

/// Takes a running manager's samples to a thread that may be slow: because a disk stalls, or because it compares movements.
package final class SampleQueue: Sendable {
    /// What has arrived since the last call of `next`.
    package struct Batch: Sendable {
        package var samples: [MotionSample]
        /// All samples so far for which there was no room.
        package var lost: Int
        /// Nothing follows.
        package var isClosed: Bool
    }

    /// The most samples that wait: 20 s at 200 Hz.
    private static let capacity = 4096

    private let state = Mutex(Batch(samples: [], lost: 0, isClosed: false))
    private let wake: WakeSignal
    private let token = Mutex<HandlerToken?>(nil)

    /// Starts to take samples, along the sensor's axes and not calibrated; `nil` if the system has no file descriptor left.
    package init?(_ manager: MotionManager) {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
        let handler = manager.addSampleHandler { [weak self] samples in self?.add(samples) }
        token.withLock { $0 = handler }
    }

    deinit {
        close()
    }

    /// Takes no more samples, and wakes the thread.
    package func close() {
        token.withLock { $0.take() }?.remove()
        state.withLock { $0.isClosed = true }
        wake.signal()
    }

    private func add(_ samples: [MotionSample]) {
        state.withLock { state in
            if state.samples.count + samples.count <= SampleQueue.capacity {
                state.samples += samples
            } else {
                state.lost += samples.count
            }
        }
        wake.signal()
    }

    /// The samples since the last call. Waits for some, or for the end, for at most `seconds`.
    package func next(within seconds: Double) -> Batch {
        let batch = take()
        guard batch.samples.isEmpty, !batch.isClosed, seconds > 0 else { return batch }
        wake.wait(seconds: seconds)
        return take()
    }

    private func take() -> Batch {
        state.withLock { state in
            defer { state.samples = [] }
            return state
        }
    }
}
