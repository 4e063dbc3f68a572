internal import CCounters

/// Makes the optimiser assume that `value` is read and changed, so that the computation of it is not removed.
@inline(__always)
func keep<Value: ~Copyable>(_ value: inout Value) {
    withUnsafeMutablePointer(to: &value) { counters_touch($0) }
}

/// Makes the optimiser assume that `value` is read.
@inline(__always)
func keep<Value: BitwiseCopyable>(_ value: Value) {
    var copy = value
    keep(&copy)
}
