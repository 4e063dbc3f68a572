internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import StateStorage
internal import Synchronization

/// A thread that owns some of a swarm's boards, and waits for all their sockets and deadlines at once.
///
/// Its work depends on what happens and not on the number of boards: sockets come from epoll, deadlines from a heap.
final class SwarmWorker: Sendable {
    /// What other threads ask of it. Boards are numbered in the order in which they were added to the worker.
    enum Request: Sendable {
        /// A new board, which starts at a time.
        case add(SwarmPlace, at: Timestamp)
        case fault(SwarmOrder.Fault, board: Int, pause: Double)
        case shake(board: Int, strength: Double, axis: BodyAxis)
        /// From another thread, for the run with this number.
        case event(board: Int, run: Int, SwarmBoard.Event)
        case storeIsLost(board: Int)
        /// All boards leave, and the thread ends.
        case end
    }

    /// A class, accessed only under the lock: Swift 6.0.3 crashes on a mutex that holds the struct directly.
    private final class Shared: @unchecked Sendable {
        var requests: [Request] = []
        var counts = SwarmCounts()
        var failure: AgentError?
    }

    private let shared = Mutex(Shared())
    let wake: WakeSignal

    init?() {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
    }

    /// Passes a request to the thread.
    func post(_ request: Request) {
        let mustSignal = shared.withLock { shared in
            shared.requests.append(request)
            return shared.requests.count == 1
        }
        if mustSignal { wake.signal() }
    }

    /// The thread's counts after its last round.
    var counts: SwarmCounts { shared.withLock { $0.counts } }

    /// Why a board cannot be started; `nil` if none failed.
    var failure: AgentError? { shared.withLock { $0.failure } }

    // MARK: The thread's side

    func takeRequests() -> [Request] {
        wake.clear()
        return shared.withLock { shared in
            let taken = shared.requests
            shared.requests = []
            return taken
        }
    }

    func report(_ counts: SwarmCounts, _ failure: AgentError?) {
        shared.withLock { shared in
            shared.counts = counts
            shared.failure = failure ?? shared.failure
        }
    }
}
