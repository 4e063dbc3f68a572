import Testing

@testable import JostleConfiguration

/// The messages: file, line, column, key, the value found and the values allowed.
@Suite struct ConfigurationProblemTests {
    @Test func reportsRefusedValueWithPositionAndBounds() throws {
        let builder = try build("sensor:\n  bus: auto\n  rate: fast\n")
        #expect(
            builder.problems.map(\.description) == [
                "jostle.yaml:3:9: sensor.rate: \"fast\" is not a frequency; allowed: 4 Hz … 4000 Hz, for example 200 Hz"
            ])
    }

    @Test func collectsAllProblemsInOrder() throws {
        let builder = try build(
            """
            sensr: {}
            sensor:
              rate: 5000
              driver: virtual
              acelerometer_range: 8 g
            gestures:
              shake:
                sensitvity: 7
                enabled: yes
            mqtt: localhost
            """)
        #expect(
            builder.problems.map(\.description) == [
                "jostle.yaml:1:1: sensr: unknown key; did you mean \"sensor\"?",
                "jostle.yaml:3:9: sensor.rate: \"5000\" is out of bounds; allowed: 4 Hz … 4000 Hz, for example 200 Hz",
                "jostle.yaml:5:3: sensor.acelerometer_range: unknown key; did you mean \"accelerometer_range\"?",
                "jostle.yaml:8:5: gestures.shake.sensitvity: unknown key; did you mean \"sensitivity\"?",
                "jostle.yaml:9:14: gestures.shake.enabled: \"yes\" is neither true nor false; allowed: true or false",
                "jostle.yaml:10:7: mqtt: \"localhost\" is not a mapping of keys to values; allowed: broker: …, command_broker: …, "
                    + "client_id: …, username: …, username_file: …, password_file: …, ca_file: …, ca_directory: …, "
                    + "server_name_check: …, alpn: …, certificate_file: …, key_file: …, prefix: …, keep_alive: …, "
                    + "version: …, event_expiry: …, outbox: …",
            ])
        // The valid values still apply.
        #expect(builder.settings.sensor.driver == .virtual)
        #expect(builder.settings.imu.rate == 200)
    }

    @Test(arguments: [
        ("mqqt={}", "did you mean \"mqtt\"?"),
        ("device.nmae=x", "did you mean \"name\"?"),
        ("sensor.gyroscope_rang=250", "did you mean \"gyroscope_range\"?"),
        ("sensor.colour=red", "allowed: enabled, driver, bus, address"),
        ("sensor.mount=x", "did you mean \"mount_matrix\"?"),
        ("sensor.accelerometerRange=8", "did you mean \"accelerometer_range\"?"),
        ("attitude.low-pass=8", "did you mean \"low_pass\"?"),
        ("motion.accelaration_low_pass=8", "did you mean \"acceleration_low_pass\"?"),
        ("gestures.shakes.enabled=true", "did you mean \"shake\"?"),
        ("publish.attidude.rate=1", "did you mean \"attitude\"?"),
        ("publish.motion.dead_band=1", "did you mean \"deadband\"?"),
        ("publish.health.intervall=1", "did you mean \"interval\"?"),
        ("mqtt.password=1", "did you mean \"password_file\"?"),
        ("log.lvl=info", "allowed: level"),
        ("sensitivity=7", "did you mean \"gestures.shake.sensitivity\" or \"gestures.tap.sensitivity\""),
        ("rate=7", "did you mean \"sensor.rate\" or \"publish.attitude.rate\" or \"publish.motion.rate\"?"),
        (
            "frobnicate=1",
            """
            allowed: device, sensor, attitude, motion, gestures, actions, publish, settings, commands, recorder, fleet, \
            mqtt, home_assistant, page, log
            """
        ),
    ])
    func refusesUnknownKeyWithSuggestion(_ override: String, _ expected: String) {
        let problems = build(overrides: [override]).problems
        #expect(problems.count == 1)
        #expect(problems.first?.reason.hasPrefix("unknown key") == true)
        #expect(problems.first?.description.contains(expected) == true, "\(problems)")
    }

    @Test func hidesValueOfUnknownKey() {
        let problems = build(overrides: ["mqtt.password=secret"]).problems
        #expect(
            problems.map(\.description) == [
                "--set mqtt.password: unknown key; did you mean \"password_file\"?"
            ])
    }

    @Test func acceptsEmptySection() throws {
        let builder = try build("sensor:\ngestures: { shake: }\nmqtt: {}\n")
        #expect(builder.problems.isEmpty)
        #expect(builder.settings == JostleSettings())
    }

    @Test func headingNeedsTheGyroscope() {
        let builder = build(overrides: ["sensor.gyroscope=false", "sensor.magnetometer=true"])
        #expect {
            try builder.finish()
        } throws: { error in
            (error as? ConfigurationErrors)?.description
                == "--set sensor.magnetometer: needs sensor.gyroscope: true as well"
        }
    }

    @Test(arguments: [
        ("mqtt.certificate_file=a", "--set mqtt.certificate_file: needs mqtt.key_file as well"),
        ("mqtt.key_file=a", "--set mqtt.key_file: needs mqtt.certificate_file as well"),
        ("mqtt.password_file=a", "--set mqtt.password_file: needs mqtt.username or mqtt.username_file as well"),
        ("sensor.identity=0x70", "--set sensor.identity: needs a family of chips as sensor.driver as well"),
    ])
    func requiresCompanionKey(_ override: String, _ expected: String) {
        let builder = build(overrides: [override])
        #expect(builder.problems.isEmpty)
        #expect {
            try builder.finish()
        } throws: { error in
            (error as? ConfigurationErrors)?.description == expected
        }
        let whole = build(overrides: [
            "mqtt.certificate_file=a", "mqtt.key_file=b", "mqtt.username=u", "mqtt.password_file=p",
        ])
        #expect(throws: Never.self) { try whole.finish() }
        let credentials = build(overrides: ["mqtt.username_file=credential:u", "mqtt.password_file=credential:p"])
        #expect(throws: Never.self) { try credentials.finish() }
    }

    @Test func shortensAndEscapesValuesInMessages() {
        let long = String(repeating: "é", count: 1000)
        let problem = build(overrides: ["sensor.rate=\(long)"]).problems.first
        #expect(problem?.found == String(repeating: "é", count: 60) + "…")
        let strange = build(overrides: ["sensor.rate=a\n\u{1B}[2J\u{202E}b"]).problems.first
        #expect(
            strange?.description.contains("\"a\\n\\u{1B}[2J\\u{202E}b\"") == true, "\(String(describing: strange))")
    }

    @Test func stopsAfterHundredProblems() throws {
        let text = (0..<500).map { "key\($0): 1" }.joined(separator: "\n")
        #expect(try build(text).problems.count == 100)
    }

    @Test(arguments: [
        ("", "", 0), ("abc", "", 3), ("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abcd", "abd", 1),
        ("abd", "abcd", 1), ("kitten", "sitting", 3), ("ca", "abc", 3),
    ])
    func computesEditDistance(_ a: String, _ b: String, _ expected: Int) {
        #expect(EditDistance.between(Array(a), Array(b)) == expected)
    }
}
