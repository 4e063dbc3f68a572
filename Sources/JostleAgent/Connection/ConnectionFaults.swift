internal import MosquittoClient

/// The filters that the agent is not subscribed to, because a message to them is too large: what the device cannot be
/// told until somebody removes the message.
struct ConnectionFaults {
    private var omissions: [String: MQTTOmission] = [:]

    /// One phrase for each filter, in alphabetical order.
    var phrases: [String] {
        omissions.sorted { $0.key < $1.key }.map { "not subscribed to \($0.key): \($0.value)" }
    }

    /// Handles an event. Returns whether the faults changed.
    mutating func handle<Token>(_ event: MQTTEvent<Token>) -> Bool {
        switch event {
        case .subscriptionLeftOut(let filter, let omission):
            guard case .messageTooLarge = omission else { return false }
            return omissions.updateValue(omission, forKey: filter) != omission
        // An answer is not enough: the retained message that is too large comes after it.
        case .subscriptionRestored(let filter), .subscriptionRefused(let filter, _): return remove(filter)
        default: return false
        }
    }

    /// The filter is no longer wanted, was refused, or is of use again. Returns whether the faults changed.
    @discardableResult
    mutating func remove(_ filter: String) -> Bool { omissions.removeValue(forKey: filter) != nil }
}
