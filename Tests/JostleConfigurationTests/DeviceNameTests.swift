import JostleConfiguration
import Testing

/// Requirement: the default name matches `[A-Za-z0-9][A-Za-z0-9_-]{0,63}` for every host name, and distinguishes boards
/// with the same host name.
@Suite struct DeviceNameTests {
    @Test(
        arguments: [
            ("raspberrypi", "10000000abcd1234", "raspberrypi-1234"),
            ("raspberrypi", "00000000A0B1C2DE", "raspberrypi-c2de"),
            ("washer.home.arpa", "00001234", "washer-1234"), ("Küche pi!", nil, "K-che-pi-"), ("_-pi_2", nil, "pi_2"),
            ("", nil, "jostle"), ("...", "beef", "jostle-beef"), ("---", nil, "jostle"), ("日本", nil, "jostle"),
            ("pi", "12", "pi"), ("pi", "", "pi"), ("pi", "xyzw-g", "pi"),
        ] as [(String, String?, String)])
    func makesKnownNames(host: String, serial: String?, name: String) {
        #expect(DeviceName.make(host: host, serial: serial) == name)
    }

    @Test(arguments: [nil, "10000000abcd1234"])
    func makesNamesThatFitTopics(serial: String?) {
        let hosts = [
            "raspberrypi", "", ".", "-", "_", "9", String(repeating: "a", count: 300),
            String(repeating: "-x", count: 64),
            "a/b", "a+b", "#", "a b\n", "ß", "١٢", "Ａ", "e\u{301}", "\u{1F600}", "\u{0}", "_jostle",
        ]
        for host in hosts {
            let name = DeviceName.make(host: host, serial: serial)
            #expect(fitsATopic(name), "\"\(host)\" became \"\(name)\"")
            #expect(serial == nil || name.hasSuffix("-1234"), "\(name)")
        }
    }

    /// Two agents on a board are two devices.
    @Test(
        arguments: [
            ("pi", "10000000abcd1234", "left", "pi-1234-left"), ("pi", nil, "right", "pi-right"),
            ("pi", "00001234", "", "pi-1234"), ("", nil, "a b/c", "jostle-a-b-c"),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "00001234",
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-1234-bbbbbbbbbbbbbbbbbbbbbbbb"
            ),
        ] as [(String, String?, String, String)])
    func distinguishesInstances(host: String, serial: String?, instance: String, name: String) {
        let made = DeviceName.make(host: host, serial: serial, instance: instance)
        #expect(made == name && fitsATopic(made))
    }

    @Test func nameOfThisMachineIsStable() {
        #expect(fitsATopic(DeviceName.ofThisMachine()))
        #expect(DeviceName.ofThisMachine() == DeviceName.ofThisMachine())
    }

    private func fitsATopic(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9_\-]{0,63}/.asciiOnlyCharacterClasses()) != nil
    }
}
