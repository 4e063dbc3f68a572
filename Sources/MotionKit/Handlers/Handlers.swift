internal import IMUDrivers
internal import MotionCore
internal import Synchronization

/// All handlers of a manager.
final class Handlers: Sendable {
    let chain = ResponderChain()
    let motion = MotionHandlers()
    let sensor = HandlerList<(event: SensorEvent, time: Timestamp)>()
    let references = HandlerList<ReferenceChange>()
    let samples = HandlerList<[MotionSample]>()
    let fields = HandlerList<[MagneticSample]>()
    let measured = HandlerList<[MeasuredSample]>()
    let nearMisses = HandlerList<NearMiss>()

    private let delivery = Mutex(())
    private let ends = Mutex<[Int: @Sendable () -> Void]>([:])

    /// Calls `body` once no other delivery thread is calling handlers. That of an earlier run may still be, if a handler
    /// stopped and started its manager or does not return.
    func withExclusiveDelivery(_ body: () -> Void) {
        delivery.withLock { _ in body() }
    }

    /// Has `body` called when the manager is released, unless it is cancelled with the number that is returned.
    func atEnd(_ body: @escaping @Sendable () -> Void) -> Int {
        ends.withLock { ends in
            let number = (ends.keys.max() ?? 0) + 1
            ends[number] = body
            return number
        }
    }

    func cancelEnd(_ number: Int) {
        ends.withLock { $0[number] = nil }
    }

    /// Ends the streams.
    func end() {
        let bodies = ends.withLock { ends in
            defer { ends = [:] }
            return Array(ends.values)
        }
        for body in bodies { body() }
    }
}
