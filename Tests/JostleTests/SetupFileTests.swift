import BrokerTestSupport
import JostleConfiguration
import Testing

@testable import jostle

/// Requirement: `jostle setup` finds brokers that announce themselves, and writes answers so that they read back, whatever
/// they contain.
@Suite struct SetupFileTests {
    @Test func readsAnnouncedBrokers() {
        let text = """
            +;eth0;IPv4;Mosquitto;_mqtt._tcp;local
            =;eth0;IPv6;Mosquitto\\032on\\032shelf;_mqtt._tcp;local;shelf.local;fe80::1;1883;
            =;eth0;IPv4;Mosquitto\\032on\\032shelf;_mqtt._tcp;local;shelf.local;192.168.1.5;1883;"a=b;c"
            =;eth0;IPv4;Other;_mqtt._tcp;local;other.local;192.168.1.6;1884;
            =;eth0;IPv4;Bad;_mqtt._tcp;local;$(reboot);192.168.1.7;1883;
            =;eth0;IPv4;Bad;_mqtt._tcp;local;bad.local;192.168.1.7;none;
            =;eth0;IPv4
            """
        let found = BrokerSearch.brokers(in: text, scheme: "mqtt", isHomeAssistant: false)
        #expect(found.map(\.url) == ["mqtt://shelf.local", "mqtt://other.local:1884"])
        #expect(found.first?.name == "Mosquitto on shelf")
        let secure = BrokerSearch.brokers(
            in: "=;e;IPv4;M;_secure-mqtt._tcp;local;m.local;10.0.0.1;8883;", scheme: "mqtts", isHomeAssistant: false)
        #expect(secure.map(\.url) == ["mqtts://m.local"])
        // The port is that of the web page.
        let home = BrokerSearch.brokers(
            in: "=;e;IPv4;Home;_home-assistant._tcp;local;ha.local;10.0.0.1;8123;", scheme: "mqtt",
            isHomeAssistant: true)
        #expect(home.map(\.url) == ["mqtt://ha.local"] && home.first?.isHomeAssistant == true)
    }

    @Test func completesAddresses() {
        #expect(Setup.url("192.168.1.5") == "mqtt://192.168.1.5")
        #expect(Setup.url("mqtts://home") == "mqtts://home" && Setup.url("embedded") == "embedded")
    }

    @Test func answersReadBack() throws {
        let name = "Wäsche: \"oben\" # 1\\"
        let text = SetupFiles.text([
            (key: "device.id", value: "washer-1"), (key: "device.name", value: name),
            (key: "mqtt.broker", value: "mqtt://10.0.0.5"), (key: "mqtt.username", value: "me"),
            (key: "mqtt.password_file", value: "credential:mqtt-password"),
        ])
        let directory = try TemporaryDirectory()
        let loaded = try JostleSettings.load(file: try directory.write(text, to: "answers.yaml"))
        #expect(loaded.settings.device.id == "washer-1" && loaded.settings.device.name == name)
        #expect(loaded.settings.mqtt.passwordFile == "credential:mqtt-password")
    }
}
