import JostleConfiguration
import Testing

@testable import jostle

/// Requirement: a report for a maintainer has no secrets, and still has what is needed to find a fault.
@Suite struct SecretRemovalTests {
    private func cleaned(_ text: String) -> String { SecretRemoval().cleaned(text) }

    @Test(arguments: [
        ("password: hush-1 and more", "password: [removed]"),
        ("connecting with password=hush-1 to x", "connecting with password=[removed] to x"),
        ("MQTT_PASSWORD=hush-1", "MQTT_PASSWORD=[removed]"),
        ("{\"password\": \"hu\\\"sh-1\", \"n\": 1}", "{\"password\": \"[removed]\", \"n\": 1}"),
        ("\\\"token\\\":\\\"hush-1\\\"", "\\\"token\\\":[removed]"),
        ("Passwd = 'hush 1' x", "Passwd = '[removed]' x"),
        ("username: hush-1", "username: [removed]"),
        ("to mqtt://me:hush-1@broker:1883 now", "to mqtt://[removed]broker:1883 now"),
        ("mqtts://me:hu/sh@1@broker", "mqtts://[removed]broker"),
        ("mosquitto_pub -u me -P hush-1 -t a", "mosquitto_pub -u me -P [removed] -t a"),
        ("Authorization: Bearer hush-1", "Authorization: [removed]"),
        ("sent Bearer hush-1 there", "sent Bearer [removed] there"),
        ("reply to jostle/_reply/hush-1/77", "reply to jostle/_reply/[removed]/77"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nhush\n-----END RSA PRIVATE KEY-----\nb", "a\n[removed]\nb"),
        ("-----BEGIN PRIVATE KEY-----\nhush", "[removed]"),
        ("jostle --password hush-1 -t a", "jostle --password [removed] -t a"),
        ("x --mqtt-password 'hush 1' -t a", "x --mqtt-password '[removed]' -t a"),
        ("mysql -phush-1 -h db", "mysql -p[removed] -h db"),
        ("mosquitto_pub -Phush-1 -t a", "mosquitto_pub -P[removed] -t a"),
        ("x -password hush-1 -t a", "x -password [removed] -t a"),
        ("x -pass hush-1 -t a", "x -pass [removed] -t a"),
        ("lowpassword=hush-1 x", "lowpassword=[removed] x"),
        ("password == hush-1 x", "password == [removed] x"),
        ("pass => hush-1 x", "pass => [removed] x"),
        ("pass: hush-1", "pass: [removed]"),
        ("MQTT_PASS=hush-1 mqttPass=hush-2", "MQTT_PASS=[removed] mqttPass=[removed]"),
        ("wlan pw=hush-1, psk=\"hush 2\"", "wlan pw=[removed], psk=\"[removed]\""),
        ("secretKey: hush-1", "secretKey: [removed]"),
        ("private-key: hush-1", "private-key: [removed]"),
        ("GET /a?key=hush-1&b=2", "GET /a?key=[removed]&b=2"),
        ("Set-Cookie: session=hush-1; Path=/", "Set-Cookie: [removed]"),
        ("sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_g there", "sent [removed] there"),
        ("as AKIAIOSFODNN7EXAMPLE.", "as [removed]"),
        ("clone with ghp_0123456789abcdefghij0123456789 failed", "clone with [removed] failed"),
    ])
    func removesWhatStandsWhereSecretsAre(text: String, expected: String) {
        #expect(cleaned(text) == expected)
    }

    @Test(arguments: [
        "mqtt.password_file: /etc/jostle/password: every user can read it; run chmod o= /etc/jostle/password",
        "password_file: credential:password", "the broker refused the connection: check user name and password",
        "connected to mqtts://broker.local:8883", "/etc/jostle/credentials/token: Permission denied", "",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "attitude.low_pass: 4 Hz -> 5 Hz", "attitude.low_pass=5 Hz", "compass: 12°, bypass=1, turnkey=2",
        "ssh -p 22 pi@board", "docker run -p8080:80 -p 1883:1883", "mosquitto_pub --key device.key --cert device.pem",
        "--set sensor.rate: has no value; write key=value", "refused: key: gestures.tap.sensitivity, value: 11",
        // Lines of the agent's log.
        "vm-fda4: reading virtual MPU-6050 (demo), publishing under jostle/vm-fda4 to mqtt://127.0.0.1:59231",
        "connecting to mqtt://localhost:1883 with MQTT 5", "no flick: it did not come to rest, 5.7 m/s²",
        "mqtt://a: Connection refused; check that the broker runs and listens on this port; trying again in 0.2 s",
        "the broker refused the connection: not authorised; check user name and password; trying again in 1.7 s",
        "mqtt.password_file: /p: its first line begins or ends with a blank, which is part of it",
        "layer all is not applied: fleet.trusted_keys: the document is signed with an unknown key",
        "gestures.shake.sensitivity: 5 -> 7, sent by operator", "the sensor is measuring", "4 events are kept",
    ])
    func keepsWhatIsNoSecret(text: String) {
        #expect(cleaned(text) == text)
    }

    @Test func removesKnownSecretsEverywhere() {
        var removal = SecretRemoval()
        removal.add("hush\"4711\n")
        removal.add("1x")
        removal.add("cat")
        #expect(removal.cleaned("xhush\"4711x \"hush\\\"4711\" 1x") == "x[removed]x \"[removed]\" 1x")
        // A short one only as a word: otherwise half of the report would go.
        #expect(removal.cleaned("cat category cat-1 (cat)") == "[removed] category cat-1 ([removed])")
    }

    @Test func removesUserNamesThatAreNotPublic() {
        var removal = SecretRemoval()
        for name in ["lamp", "dut", "homeassistant"] { removal.add(userName: name, publicNames: ["dut"]) }
        #expect(
            removal.cleaned("lamp lamp-shaker dut homeassistant 'lamp'")
                == "[removed] lamp-shaker dut homeassistant '[removed]'")
    }

    @Test func learnsSecretsOfConfigurationFiles() {
        var removal = SecretRemoval()
        removal.add(
            secretsOf: """
                # password: first-1
                mqtt: {username: second-2, password: third-3}
                  password: "fourth 4" # comment
                  passwd: fifth-5 # comment
                  broker: mqtt://sixth-6:seventh-7@host
                """, publicNames: [])
        let text = "first-1 second-2 third-3 fourth 4 fifth-5 sixth-6 seventh-7 host"
        #expect(removal.cleaned(text) == String(repeating: "[removed] ", count: 7) + "host")
    }

    @Test func removesSecretsOfMessages() throws {
        let json = """
            {"settings":{"actions":[{"on":"shake","publish":{"topic":"a","payload":"hush"}}],"mqtt":{"username":"hush"}},
            "refused":[{"key":"mqtt.password","value":"hush","reason":"unknown"},{"key":"log.level","value":"loud"}],
            "pwd":17,"token":null,"password_file":"kept","text":"password=hush"}
            """
        let clean = SupportReport.text(ofJSON: Array(json.utf8), SecretRemoval())
        #expect(!clean.contains("hush") && !clean.contains("17"), "\(clean)")
        for kept in ["\"loud\"", "\"kept\"", "\"unknown\"", "\"topic\": \"a\"", "\"token\": null"] {
            #expect(clean.contains(kept), "\(clean)")
        }
    }

    @Test func hidesBrokerOnRequest() {
        var removal = SecretRemoval()
        removal.hide(broker: "home.example")
        removal.hide(broker: "127.0.0.1")
        #expect(removal.cleaned("mqtt://home.example:1883 127.0.0.1") == "mqtt://[broker]:1883 127.0.0.1")
    }

    @Test func reportIsBounded() {
        var report = SupportReport(secrets: SecretRemoval())
        report.add("Small", "one\ntwo\n")
        report.add("Beginning", (1...9).map { "line \($0)\n" }.joined(), limit: 40)
        report.add("End", (1...9).map { "line \($0)\n" }.joined(), limit: 40, keepsEnd: true)
        for number in 1...40 { report.add("Large \(number)", String(repeating: "0123456789\n", count: 3000)) }
        report.add("After", "nothing fits")
        let text = report.text("Report", made: "now")
        #expect(text.utf8.count <= SupportReport.maximumBytes)
        #expect(text.contains("## Small\n\n    one\n    two\n"))
        #expect(text.contains("## Beginning\n\n    line 1\n    line 2\n    line 3\n    … 6 lines left out\n"))
        #expect(text.contains("## End\n\n    … 6 lines left out\n    line 7\n    line 8\n    line 9\n"))
        #expect(text.hasSuffix("## After\n\n    … 1 line left out\n"))
    }

    @Test func linesCannotImitateHeadings() {
        var report = SupportReport(secrets: SecretRemoval())
        report.add("Log", "## Fake\n\u{1B}[2J\tx")
        #expect(report.text("Report", made: "now").hasSuffix("## Log\n\n    ## Fake\n    \\u{1b}[2J    x\n"))
    }
}
