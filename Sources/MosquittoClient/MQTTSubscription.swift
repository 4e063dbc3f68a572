/// The options of a subscription.
struct MQTTSubscription: Equatable, Sendable {
    var qos: MQTTQoS
    var keepsRetainFlag = false

    /// Whether the connection is of use without it. Optional filters are requested last, one at a time, and left out on
    /// the next connection if the broker ends this one instead of answering.
    var isOptional = false
}
