internal import CCounters

/// Makes the optimiser believe that `value` is used and changed, so that what was computed into it is computed.
@inline(__always)
func keep<Value: ~Copyable>(_ value: inout Value) {
    withUnsafeMutablePointer(to: &value) { counters_touch($0) }
}

/// Makes the optimiser believe that `value` is used.
@inline(__always)
func keep<Value: BitwiseCopyable>(_ value: Value) {
    var copy = value
    keep(&copy)
}
