/// A large value behind one reference: a structure that has it is copied by counting one reference, not all of the value's.
///
/// Without it, each structure that has settings repeats the code that copies and destroys all their fields.
@propertyWrapper
package struct ByReference<Value: Equatable & Sendable>: Equatable, Sendable {
    @usableFromInline
    package final class Storage: Sendable {
        @usableFromInline package let value: Value

        @inlinable
        package init(_ value: Value) { self.value = value }
    }

    @usableFromInline package var storage: Storage

    @inlinable package var wrappedValue: Value {
        get { storage.value }
        set { storage = Storage(newValue) }
    }

    @inlinable
    package init(wrappedValue: Value) { storage = Storage(wrappedValue) }

    @inlinable
    package static func == (one: ByReference, other: ByReference) -> Bool {
        one.storage === other.storage || one.storage.value == other.storage.value
    }
}
