/// The options of a subscription.
struct MQTTSubscription: Equatable, Sendable {
    var qos: MQTTQoS
    var keepsRetainFlag = false
}
