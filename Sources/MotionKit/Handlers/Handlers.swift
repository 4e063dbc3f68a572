internal import IMUDrivers
internal import MotionCore
internal import Synchronization

/// Everybody whom a manager tells what the sensor thread handed on.
final class Handlers: Sendable {
    let chain = ResponderChain()
    let motion = Listeners<MotionState>()
    let sensor = Listeners<(event: SensorEvent, time: Timestamp)>()
    let samples = Listeners<[MotionSample]>()
    let measured = Listeners<[MeasuredSample]>()
    let nearMisses = Listeners<NearMiss>()

    private let turn = Mutex(())

    /// Calls `body` once no other delivery thread is calling handlers: that of an earlier run may still be, where a
    /// handler stopped and started its manager or does not return.
    func inTurn(_ body: () -> Void) {
        turn.withLock { _ in body() }
    }
}
