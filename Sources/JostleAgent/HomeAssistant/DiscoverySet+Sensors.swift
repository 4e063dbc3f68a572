internal import JostleConfiguration

extension DiscoverySet {
    /// Adds the measured values.
    mutating func addSensors() {
        let attitude = settings.publish.attitude
        if attitude.rate > 0 {
            // One decimal matches the chip's accuracy, and fewer changes mean fewer rows in the recorder.
            let expiry = DiscoverySet.expiry(heartbeat: attitude.heartbeat, interval: 1 / attitude.rate)
            for angle in ["roll", "pitch"] + (facts.hasGyroscope ? ["yaw"] : []) {
                let fields = sensor(
                    facts.topics.attitude, "{{ value_json.\(angle) | round(1) }}", unit: "°", decimals: 1)
                addEntity("sensor", angle, angle.prefix(1).uppercased() + angle.dropFirst(), fields + expiry)
            }
        }
        let state = facts.topics.state
        addEntity("sensor", "tilt_angle", "Tilt angle", sensor(state, "{{ value_json.tilt }}", unit: "°", decimals: 0))
        addEntity(
            "sensor", "side", "Side up",
            [.init("state_topic", .string(state)), .init("value_template", "{{ value_json.side }}")])
        addEntity(
            "sensor", "vibration_level", "Vibration level",
            sensor(state, "{{ value_json.vibration | default(0) }}", unit: "m/s²", decimals: 2))
        addBinary(
            "moving", "Moving", state, "{{ 'ON' if value_json.moving else 'OFF' }}", [.init("device_class", "moving")])
        addBinary(
            "running", "Running", state, "{{ 'ON' if value_json.vibrating else 'OFF' }}",
            [.init("device_class", "running")])
    }

    /// Adds the diagnostic entities, which are based on the health report.
    mutating func addDiagnostics() {
        let interval = settings.publish.health.interval
        guard interval > 0 else { return }
        let health = facts.topics.health
        let expiry = DiscoverySet.expiry(heartbeat: interval, interval: interval)
        addEntity(
            "sensor", "temperature", "Temperature",
            sensor(
                health, "{{ value_json.temperature | default('None') }}", unit: "°C", decimals: 1, kind: "temperature")
                + expiry)
        addBinary(
            "problem", "Problem", health, "{{ 'ON' if value_json.problem | default(false) else 'OFF' }}",
            [
                .init("device_class", "problem"), .init("entity_category", "diagnostic"),
                .init("json_attributes_topic", .string(health)),
                .init(
                    "json_attributes_template", "{{ {'problems': value_json.problems | default([])} | tojson }}"),
            ] + expiry)
        let diagnostic: [JSONValue.Member] = expiry + [.init("entity_category", "diagnostic")]
        // Disabled by default: these change with every report and rarely matter.
        let hidden: [JSONValue.Member] = diagnostic + [.init("enabled_by_default", false)]
        addEntity(
            "sensor", "rate", "Sample rate",
            sensor(health, "{{ value_json.rate }}", unit: "Hz", decimals: 1, kind: "frequency") + diagnostic)
        addEntity(
            "sensor", "gaps", "Gaps", sensor(health, "{{ value_json.gaps }}", decimals: 0, counts: true) + diagnostic)
        addEntity(
            "sensor", "bus_errors", "Bus errors",
            sensor(health, "{{ value_json.bus_errors.values() | sum }}", decimals: 0, counts: true) + diagnostic)
        addEntity(
            "sensor", "queue", "Queue", sensor(health, "{{ value_json.outbox }}", decimals: 0) + diagnostic)
        addEntity(
            "sensor", "cpu", "CPU", sensor(health, "{{ value_json.cpu_percent }}", unit: "%", decimals: 1) + hidden)
        addEntity(
            "sensor", "memory", "Memory",
            sensor(health, "{{ value_json.memory_mb }}", unit: "MiB", decimals: 1, kind: "data_size") + hidden)
        addEntity(
            "sensor", "uptime", "Uptime",
            sensor(health, "{{ value_json.uptime }}", unit: "s", decimals: 0, kind: "duration", counts: true) + hidden)
    }

    /// Adds the entity that shows how the device took the fleet's layers of its configuration: the worst status, and the
    /// layers with their revisions and errors as attributes.
    mutating func addConfiguration() {
        let reported = facts.topics.reported
        // In Home Assistant, a sensor whose template renders `None` has no value; the status `none` is another word.
        let template =
            "{% set found = (value_json.layers | default({})).values() | map(attribute='status') | list %}"
            + "{{ ['rolled_back', 'rejected', 'conflict', 'stale', 'missing', 'pending', 'applied'] "
            + "| select('in', found) | first | default('none') }}"
        addEntity(
            "sensor", "configuration", "Configuration",
            [
                .init("state_topic", .string(reported)), .init("value_template", .string(template)),
                .init("entity_category", "diagnostic"), .init("icon", "mdi:cog-sync"),
                .init("json_attributes_topic", .string(reported)),
                .init("json_attributes_template", "{{ {'layers': value_json.layers | default({})} | tojson }}"),
            ])
    }

    /// The expiry of a value that is published at regular intervals: three missed messages.
    private static func expiry(heartbeat: Double, interval: Double) -> [JSONValue.Member] {
        guard heartbeat > 0 else { return [] }
        let seconds = (3 * max(heartbeat, interval, 10)).rounded(.up)
        return [.init("expire_after", .number("\(Int(seconds))"))]
    }

    private func sensor(
        _ topic: String, _ template: String, unit: String? = nil, decimals: Int, kind: String? = nil,
        counts: Bool = false
    ) -> [JSONValue.Member] {
        var fields: [JSONValue.Member] = [
            .init("state_topic", .string(topic)), .init("value_template", .string(template)),
            .init("state_class", counts ? "total_increasing" : "measurement"),
            .init("suggested_display_precision", .number("\(decimals)")),
        ]
        if let unit { fields.append(.init("unit_of_measurement", .string(unit))) }
        if let kind { fields.append(.init("device_class", .string(kind))) }
        return fields
    }

    private mutating func addBinary(
        _ object: String, _ name: String, _ topic: String, _ template: String, _ fields: [JSONValue.Member]
    ) {
        addEntity(
            "binary_sensor", object, name,
            [.init("state_topic", .string(topic)), .init("value_template", .string(template))] + fields)
    }
}
