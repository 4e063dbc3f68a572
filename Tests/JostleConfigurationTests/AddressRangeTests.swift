import JostleConfiguration
import Testing

/// Ranges of numeric addresses.
@Suite struct AddressRangeTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false), ("127.0.0.1", "::ffff:127.0.0.1", true),
        ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.1.128.0/17", "10.1.255.1", true),
        ("10.1.128.0/17", "10.1.127.1", false), ("0.0.0.0/0", "198.51.100.1", true), ("0.0.0.0/0", "::1", false),
        ("fd00::/8", "fdff::1", true), ("fd00::/8", "fe00::1", false), ("::1", "0:0:0:0:0:0:0:1", true),
        ("10.0.0.0/8", "", false), ("10.0.0.0/8", "10.0.0.0/8", false), ("10.0.0.0/8", "localhost", false),
        ("fe80::/10", "fe80::1%eth0", true), ("10.0.0.0/8", "10.0.0.1%eth0", false),
    ])
    func containsItsAddresses(_ range: String, _ address: String, _ isContained: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == isContained)
    }

    @Test(arguments: [
        "", "/", "1", "1.2.3", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/8/8", "::1/129", "host", "1.2.3.4:80",
        "fe80::1%eth0",
    ])
    func refusesWhatIsNone(_ text: String) {
        #expect(AddressRange(text) == nil)
    }
}
