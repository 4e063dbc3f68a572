import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import JostleOperator
import MosquittoClient
import MotionCore
import Testing

@testable import jostle

/// Requirement: a demonstration is never taken for the device, and shows how to subscribe in a window of any size.
@Suite struct DemoTests {
    private static let command = "mosquitto_sub -h 127.0.0.1 -p 48003 -v -t 'jostle/demo-raspberrypi-fda4/event/#'"

    @Test func hasAnIdOfItsOwn() {
        #expect(DemoConfiguration.id(board: "pi-1234", others: ["lamp"]) == "demo-pi-1234")
        #expect(DemoConfiguration.id(board: "pi", others: ["demo-pi"]) == "demo-pi-2")
        #expect(DemoConfiguration.id(board: "pi", others: ["demo-pi", "demo-pi-2"]) == "demo-pi-3")
        let long = DemoConfiguration.id(board: String(repeating: "x", count: 64), others: [])
        #expect(JostleSettings.Device.isID(long))
    }

    private func loaded(_ overrides: String...) throws -> LoadedConfiguration {
        try LoadedConfiguration(settings: JostleSettings(), provenance: Provenance()).overridden(by: overrides)
    }

    @Test func isPrivateUnlessTold() throws {
        let plain = DemoConfiguration(try loaded(), isTold: { _ in false }).loaded.settings
        #expect(plain.mqtt.broker == .embedded && !plain.homeAssistant.discovery && plain.sensor.isEnabled)
        #expect(plain.device.id?.hasPrefix("demo-") == true && plain.device.id != DeviceName.ofThisMachine())
        let words = try loaded(
            "device.id=desk", "mqtt.broker=mqtt://hall", "home_assistant.discovery=true", "sensor.enabled=false")
        let told = DemoConfiguration(words, isTold: words.isArgument).loaded.settings
        #expect(told.device.id == "desk" && told.mqtt.broker != .embedded && told.homeAssistant.discovery)
        #expect(!told.sensor.isEnabled)
    }

    @Test func continuesCommandAsAShellDoes() {
        #expect(DemoScreen.wrapped(Self.command, columns: 100) == [Self.command])
        for columns in [20, 40, 50, 60, 79] {
            let lines = DemoScreen.wrapped(Self.command, columns: columns)
            #expect(lines.dropLast().allSatisfy { $0.hasSuffix(" \\") } && lines.count > 1)
            let joined = lines.map { $0.hasSuffix(" \\") ? String($0.dropLast(2)) : $0 }
                .map { $0.drop { $0 == " " } }.joined(separator: " ")
            #expect(joined == Self.command, "\(lines)")
            // Only a word that is longer than the window exceeds it.
            #expect(lines.allSatisfy { $0.count <= columns || !$0.drop { $0 == " " }.dropLast(2).contains(" ") })
        }
    }

    private static let page = PageInvitation(
        address: "http://127.0.0.1:8088/?token=0123456789abcdef01234567",
        connection: "192.0.2.7 50122 192.0.2.20 22", user: "pi")

    private func screen(
        _ columns: Int, _ rows: Int, isUnicode: Bool = true, page: PageInvitation? = nil, last: String? = nil
    ) -> [ScreenLine] {
        var model = FleetModel(prefix: "jostle", onlyDevice: "demo")
        let start = Timestamp(nanoseconds: 0)
        for (topic, text) in [
            ("availability", "online"), ("attitude", #"{"roll":12.3,"pitch":-14.56,"yaw":78.9}"#),
            ("health", #"{"sensor":"virtual MPU-6050 (demo)","sensor_state":"streaming"}"#),
            ("event/shake", #"{"id":"1","t":1795182603123,"gesture":"shake","phase":"began","strength":14.2}"#),
        ] {
            _ = model.update(with: MQTTMessage(topic: "jostle/demo/\(topic)", text: text), at: start)
        }
        return DemoScreen(glyphs: Glyphs(isUnicode: isUnicode), timeOfDay: { _ in "13:50:03" }).lines(
            model.boards["demo"] ?? FleetBoard(id: "demo"), ConnectionStatus(), page: page, listen: Self.command,
            notes: ["The configuration is not used.", "No web page."], last: last.map(DemoScreen.LastLine.init),
            at: start,
            size: ScreenSize(columns: columns, rows: rows))
    }

    @Test func keepsCommandInView() {
        let large = screen(79, 24).map(\.text)
        #expect(large.count == 24 && large.contains { $0.contains("▼") } && large.contains { $0.contains("shake ") })
        #expect(large[20] == "No web page." && large[21].hasPrefix("Listen from another"))
        #expect(
            large[22...] == [
                "mosquitto_sub -h 127.0.0.1 -p 48003 -v -t \\", "  'jostle/demo-raspberrypi-fda4/event/#'",
            ])
        let small = screen(44, 10).map(\.text)
        #expect(
            small.suffix(2) == [
                "mosquitto_sub -h 127.0.0.1 -p 48003 -v -t \\", "  'jostle/demo-raspberrypi-fda4/event/#'",
            ])
        #expect(small.contains { $0.hasPrefix("roll 12.3°") }, "\(small)")
    }

    @Test func beginsWithTheAddressOfThePage() {
        let large = screen(79, 30, page: Self.page).map(\.text)
        #expect(
            large.prefix(4) == [
                "Web page: on your own computer, run:", "ssh -L 8088:127.0.0.1:8088 pi@192.0.2.20",
                "and open this in a browser there:", Self.page.address,
            ])
        #expect(large.count == 30 && large.contains { $0.contains("▼") } && large[28].hasPrefix("mosquitto_sub"))
        let small = screen(44, 12, page: Self.page).map(\.text)
        #expect(small.prefix(2).joined() == Self.page.address && small[0].count == 44, "\(small)")
        #expect(small.contains { $0.hasPrefix("roll 12.3°") }, "\(small)")
        #expect(!screen(44, 4, page: Self.page).map(\.text).joined().contains("token"))
    }

    /// Whatever the size of the window, its last line says that there is no sensor and what to do.
    @Test(arguments: [(80, 24), (80, 18), (60, 40), (44, 10), (44, 4), (44, 1)])
    func endsWithTheMissingSensor(columns: Int, rows: Int) {
        let reason =
            "there is no I2C bus: enable I2C with sudo raspi-config nonint do_i2c 0, then sudo modprobe i2c-dev"
        for page in [nil, Self.page] {
            let lines = screen(columns, rows, page: page, last: reason).map(\.text)
            #expect(lines.count == rows && lines.last?.hasSuffix("jostle doctor") == true, "\(lines)")
            guard rows >= 18 else { continue }
            let text = "No sensor: \(reason). This one is virtual. More: jostle doctor"
            #expect(lines.joined(separator: " ").hasSuffix(text), "\(lines)")
            #expect(lines.contains { $0.contains("roll 12.3°") || $0.contains("▼") })
        }
    }

    /// Only commands that exist are named.
    @Test func listensWithoutMosquittosClients() throws {
        let topics = Topics(prefix: "home/jostle", id: "demo-pi")
        let broker = MosquittoClient.BrokerAddress(host: "127.0.0.1", port: 48003)
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path("it's"), withIntermediateDirectories: true)
        let login = try DemoLogin(in: directory.path("it's"), JostleSettings())
        let command = Introduction.listen(broker, login, topics, hasSubscriber: false)
        #expect(command.contains(" watch --raw --device demo-pi --broker 'mqtt://127.0.0.1:48003' --set "))
        #expect(command.contains(" --set mqtt.prefix=home/jostle --set mqtt.username=demo --set 'mqtt.password_file="))
        #expect(command.hasSuffix("/it'\\''s/password'"))
        let usual = Introduction.listen(broker, login, topics, hasSubscriber: true)
        #expect(usual.contains("mosquitto_sub -h 127.0.0.1 -p 48003 "))
    }

    @Test(arguments: [0, 1, 5, 20, 44, 60, 79, 80, 200], [0, 1, 2, 3, 5, 9, 14, 18, 24, 60])
    func neverExceedsWindow(columns: Int, rows: Int) {
        for isUnicode in [true, false] {
            for page in [nil, Self.page] {
                for last in [nil, "it is in use"] {
                    let lines = screen(columns, rows, isUnicode: isUnicode, page: page, last: last)
                    #expect(lines.count <= rows && lines.allSatisfy { $0.text.count <= columns })
                    if !isUnicode { #expect(lines.allSatisfy { $0.text.utf8.count == $0.text.count }) }
                }
            }
        }
    }
}
