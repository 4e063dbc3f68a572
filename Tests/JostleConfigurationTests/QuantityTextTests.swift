import JostleConfiguration
import Testing

/// Requirement: quantities in the reports of agents read as the configuration writes them.
@Suite struct QuantityTextTests {
    @Test(arguments: [("200 Hz", 200.0), ("0.2 kHz", 200), ("12.5Hz", 12.5), ("100", 100)])
    func frequencies(_ text: String, _ expected: Double) { #expect(QuantityText.frequency(text) == expected) }

    @Test(arguments: [("60 s", 60.0), ("1 h", 3600), ("2 min", 120), ("20 ms", 0.02), ("1 d", 86_400), ("0 s", 0)])
    func durations(_ text: String, _ expected: Double) { #expect(QuantityText.duration(text) == expected) }

    @Test(arguments: ["", "auto", "60 m", "s", "-1 s", "1e999 s", "60 Hz", "nan s", "inf", "0x10 s"])
    func whatIsNoDuration(_ text: String) { #expect(QuantityText.duration(text) == nil) }
}
