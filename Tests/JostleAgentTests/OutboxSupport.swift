@testable import JostleAgent

extension OutboxCourier {
    /// An outbox without a file and a thread: it does what it was told when `workOff` is called.
    static func inMemory(_ send: @escaping Publisher.Send) -> OutboxCourier? {
        OutboxCourier(
            OutboxKeeper(file: nil, limits: OutboxLimits(), eventExpiry: 3600, note: { _ in }, send: send))
    }
}
