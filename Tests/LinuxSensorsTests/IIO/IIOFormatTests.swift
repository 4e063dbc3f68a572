import MotionCore
import Testing

@testable import LinuxSensors

/// Requirement: a frame is decoded according to the kernel's layout and format description (sysfs-bus-iio).
@Suite struct IIOFormatTests {
    @Test(
        "Extracts a value from its storage",
        arguments: [
            ("le:s16/16>>0", [0x34, 0xF2], -3532), ("be:s16/16>>0", [0xF2, 0x34], -3532),
            ("le:u16/16>>0", [0x34, 0xF2], 62004), ("le:s12/16>>4", [0x0F, 0x80], -2048),
            ("be:s12/16>>4", [0x7F, 0xFF], 2047), ("le:s13/16>>0", [0x00, 0xF0], -4096),
            ("be:u10/16>>6", [0xFF, 0xC0], 1023), ("le:s8/8>>0", [0x81], -127), ("le:u7/8>>1", [0xFF], 127),
            ("le:s20/32>>4", [0x30, 0x02, 0x80, 0xFF], -524253),
            ("be:s24/32>>8", [0x80, 0x00, 0x01, 0x55], -8_388_607),
            ("be:s64/64>>0", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], -2),
        ] as [(String, [UInt8], Int64)])
    func value(text: String, bytes: [UInt8], expected: Int64) throws {
        let type = try #require(IIOScanType(text))
        let value = bytes.withUnsafeBytes { bytes in bytes.baseAddress.map { type.value(at: $0) } }
        #expect(value == expected)
    }

    @Test("Calculates the limits of a type")
    func ends() throws {
        let signed = try #require(IIOScanType("le:s12/16>>4"))
        #expect(signed.maximum == 2047 && signed.minimum == -2048)
        let unsigned = try #require(IIOScanType("be:u10/16X3>>6"))
        #expect(unsigned.maximum == 1023 && unsigned.minimum == 0 && unsigned.length == 6 && unsigned.repeats == 3)
    }

    @Test(
        "Rejects invalid format descriptions",
        arguments: [
            "", "le:s16", "le:s16/16", "xe:s16/16>>0", "le:f16/16>>0", "le:s16/17>>0", "le:s16/8>>0", "le:s12/16>>5",
            "le:s0/16>>0", "le:s16/16X0>>0", "le:s16/16X>>0", "le:s16/16>0", "le:s16/16>>", "le:s16/16>>-1",
            "le:s16/16>>0>>0", "le:s300/16>>0",
        ])
    func refused(text: String) {
        #expect(IIOScanType(text) == nil)
    }

    private func layout(_ elements: [(String, Int, String)]) throws -> IIOFrameLayout {
        IIOFrameLayout(
            try elements.map { name, index, type in
                IIOFrameLayout.Element(name: name, index: index, type: try #require(IIOScanType(type)))
            })
    }

    @Test("Aligns each element to its own length, and the frame to the longest")
    func alignment() throws {
        // The order of the indices counts, not the order given here.
        let six = try layout([
            ("time", 9, "le:s64/64>>0"), ("y", 1, "le:s16/16>>0"), ("x", 0, "le:s16/16>>0"), ("z", 2, "le:s16/16>>0"),
        ])
        #expect(six.offsets == ["x": 0, "y": 2, "z": 4, "time": 8] && six.frameLength == 16)
        let mixed = try layout([
            ("a", 0, "le:s8/8>>0"), ("b", 1, "le:s20/32>>0"), ("c", 2, "le:s16/16>>0"), ("d", 3, "le:s8/8>>0"),
        ])
        #expect(mixed.offsets == ["a": 0, "b": 4, "c": 8, "d": 10] && mixed.frameLength == 12)
        let bytes = try layout([("a", 0, "le:s8/8>>0"), ("b", 1, "le:s8/8>>0"), ("c", 2, "le:s8/8>>0")])
        #expect(bytes.frameLength == 3)
        let repeated = try layout([("a", 0, "le:s16/16>>0"), ("q", 1, "le:s32/32X4>>0"), ("t", 2, "le:s64/64>>0")])
        #expect(repeated.offsets == ["a": 0, "q": 16, "t": 32] && repeated.frameLength == 48)
    }

    @Test(
        "Chooses the smallest value that suffices, or the largest",
        arguments: [
            ("10 20 50 100 200 500", 60, "100"), ("10 20 50 100 200 500", 200, "200"), ("25 12.5 50", 13, "25"),
            ("10 20", 200, "20"), ("104.000 208.000", 206, "208.000"), ("[4 1 1000]", 202, "200"),
            ("[4 1 1000]", 2, "4"), ("[0.5 0.25 100]", 200, "100"), ("[0.5 0.25 100]", 1.125, "1.25"),
        ] as [(String, Double, String)])
    func choice(text: String, wanted: Double, expected: String) throws {
        let available = try #require(IIOAvailable(text))
        #expect(available.text(atLeast: wanted, tolerance: 0.01) == expected)
    }

    @Test("Rejects invalid lists of values", arguments: ["", "fast slow", "[1 2]", "[1 0 2]", "[5 1 2]"])
    func noChoice(text: String) {
        #expect(IIOAvailable(text) == nil)
    }
}
