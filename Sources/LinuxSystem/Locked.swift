internal import Synchronization

/// A value behind a lock. It is a class around the value because Swift 6.0.3 crashes on a mutex that holds some structs directly.
package final class Locked<Value>: @unchecked Sendable {
    private let lock = Mutex(())
    /// Used under the lock only, which is why no access has to be checked.
    @exclusivity(unchecked) private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    /// Calls `body` with the value while no other thread uses it.
    @discardableResult
    package func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock { _ in body(&value) }
    }
}
