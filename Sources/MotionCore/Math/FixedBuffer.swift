/// Memory for a fixed number of values, allocated at `init` and written in place. Indices are not checked.
package struct FixedBuffer<Element: BitwiseCopyable>: ~Copyable {
    /// The first value.
    @usableFromInline let base: UnsafeMutablePointer<Element>

    /// Allocates memory for `count` values, which must be written before they are read.
    @inlinable
    package init(count: Int) {
        base = .allocate(capacity: count)
    }

    /// Allocates memory for `count` values.
    @inlinable
    package init(repeating value: Element, count: Int) {
        base = .allocate(capacity: count)
        base.initialize(repeating: value, count: count)
    }

    /// Allocates memory for `count` values, each of which `value` gives for its index.
    init(count: Int, _ value: (Int) -> Element) {
        base = .allocate(capacity: count)
        for index in 0..<count { base[index] = value(index) }
    }

    @inlinable
    deinit {
        base.deallocate()
    }

    /// The value at `index`, in place as with a pointer: no value is copied to change a part of it.
    @inlinable
    package subscript(index: Int) -> Element {
        unsafeAddress { UnsafePointer(base + index) }
        nonmutating unsafeMutableAddress { base + index }
    }
}
