internal import CMosquitto

/// A list of MQTT 5 properties to be sent, freed at the end of the value's lifetime.
struct PropertyList: ~Copyable {
    private(set) var pointer: OpaquePointer?

    /// Creates an empty list.
    init() {}

    deinit {
        var list = pointer
        mosquitto_property_free_all(&list)
    }

    /// Appends a number (`mosquitto_property_add_int32`).
    mutating func add(_ identifier: mqtt5_property, _ value: UInt32) throws(MQTTFailure) {
        try check(mosquitto_property_add_int32(&pointer, Int32(identifier.rawValue), value))
    }

    /// Appends a text (`mosquitto_property_add_string`).
    mutating func add(_ identifier: mqtt5_property, _ value: String) throws(MQTTFailure) {
        try check(mosquitto_property_add_string(&pointer, Int32(identifier.rawValue), value))
    }

    /// Appends bytes (`mosquitto_property_add_binary`).
    mutating func add(_ identifier: mqtt5_property, _ value: [UInt8]) throws(MQTTFailure) {
        let code = value.withUnsafeBytes { bytes in
            mosquitto_property_add_binary(
                &pointer, Int32(identifier.rawValue), bytes.baseAddress, UInt16(clamping: bytes.count))
        }
        try check(code)
    }

    /// Appends the properties of a message.
    mutating func add(_ properties: MQTTMessage.Properties) throws(MQTTFailure) {
        if let value = properties.messageExpiry { try add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, value) }
        if let value = properties.responseTopic { try add(MQTT_PROP_RESPONSE_TOPIC, value) }
        if let value = properties.correlationData { try add(MQTT_PROP_CORRELATION_DATA, value) }
        if let value = properties.contentType { try add(MQTT_PROP_CONTENT_TYPE, value) }
        for property in properties.userProperties {
            let identifier = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
            try check(mosquitto_property_add_string_pair(&pointer, identifier, property.name, property.value))
        }
    }

    private func check(_ code: Int32) throws(MQTTFailure) {
        if code != MOSQ_ERR_SUCCESS.rawValue { throw .library(code: code) }
    }
}
