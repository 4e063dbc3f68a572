/// The bands in which vibration is judged: octaves from 1.4 Hz up, and all of it.
///
/// Band 0 has everything from 0.6 Hz, for rates at which aliasing folds a machine's harmonics into a few hertz. Band k is
/// the octave from 0.7·2ᵏ Hz, up to 0.45 times the sample rate.
package enum VibrationBands {
    /// The number of bands; the last octave ends at 2867 Hz.
    package static let count = 12

    /// The first octave that is judged: people move below.
    static let firstJudged = 2

    /// Below this many samples a second, only band 0 is judged.
    static let slowRate = 50.0

    /// The lowest frequency of a line, Hz.
    static let lowest = 2.8

    /// The share of the sample rate up to which the spectrum is used: above, the sensor's low-pass leaves little.
    static let usable = 0.45

    /// The lower end of a band, Hz.
    package static func edge(_ band: Int) -> Double { band == 0 ? 0.6 : 0.7 * Double(1 << band) }

    /// The bins of a band, each `width` Hz wide; none if there is hardly any of it.
    static func bins(of band: Int, width: Double, rate: Double) -> Range<Int> {
        guard let upper = end(of: band, rate: rate) else { return 0..<0 }
        let first = max(1, Int((edge(band) / width - 0.5).rounded(.up)))
        return first..<max(first, Int((upper / width - 0.5).rounded(.up)))
    }

    /// The band's width, Hz; 0 if there is hardly any of it.
    static func width(of band: Int, rate: Double) -> Double {
        end(of: band, rate: rate).map { $0 - edge(band) } ?? 0
    }

    /// The upper end of a band at a rate, Hz; `nil` if there is hardly any of it.
    private static func end(of band: Int, rate: Double) -> Double? {
        let upper = band == 0 ? usable * rate : min(2 * edge(band), usable * rate)
        return upper > 1.2 * edge(band) ? upper : nil
    }

    /// The bands that are judged at a rate.
    static func judged(rate: Double) -> Range<Int> {
        guard rate >= slowRate else { return 0..<1 }
        var end = firstJudged
        while end < count, width(of: end, rate: rate) > 0 { end += 1 }
        return firstJudged..<end
    }

    /// The first band that needs single samples, if groups of them are averaged: what is folded below a quarter of the rate
    /// of the groups is 23 dB weaker.
    static func firstOfPiece(rate: Double, group: Int) -> Int {
        guard group > 1 else { return count }
        var band = firstJudged
        while band < count, 2 * edge(band) <= 0.25 * rate / Double(group) { band += 1 }
        return band
    }

    /// The octaves that are published and compared, also at a rate at which they are not judged.
    package static func octaves(rate: Double) -> Range<Int> { judged(rate: max(rate, slowRate)) }
}
