/// How a filter is subscribed to.
struct MQTTSubscription: Equatable, Sendable {
    var qos: MQTTQoS
    var keepsRetainFlag = false
}
