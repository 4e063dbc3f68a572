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

    /// The lower end of a band, Hz.
    package static func edge(_ band: Int) -> Double { band == 0 ? 0.6 : 0.7 * Double(1 << band) }

    /// The bins of a band, each `width` Hz wide; none if there is hardly any of it.
    static func bins(of band: Int, width: Double, rate: Double) -> Range<Int> {
        let lower = edge(band)
        let upper = band == 0 ? 0.45 * rate : min(2 * lower, 0.45 * rate)
        guard upper > 1.2 * lower else { return 0..<0 }
        let first = max(1, Int((lower / width - 0.5).rounded(.up)))
        return first..<max(first, Int((upper / width - 0.5).rounded(.up)))
    }

    /// The band's width, Hz; 0 if there is hardly any of it.
    static func width(of band: Int, rate: Double) -> Double {
        let lower = edge(band)
        let upper = band == 0 ? 0.45 * rate : min(2 * lower, 0.45 * rate)
        return upper > 1.2 * lower ? upper - lower : 0
    }

    /// The bands that are judged at a rate.
    static func judged(rate: Double) -> Range<Int> {
        guard rate >= slowRate else { return 0..<1 }
        var end = firstJudged
        while end < count, width(of: end, rate: rate) > 0 { end += 1 }
        return firstJudged..<end
    }

    /// The first band that needs single samples, if groups of them are averaged.
    static func firstOfPiece(rate: Double, group: Int) -> Int {
        guard group > 1 else { return count }
        var band = firstJudged
        while band < count, 2 * edge(band) <= 0.45 * rate / Double(group) { band += 1 }
        return band
    }

    /// The octave that begins at a frequency, Hz.
    package static func band(at edge: Double) -> Int { (1..<count).first { self.edge($0) >= edge - 0.01 } ?? count - 1 }

    /// The frequencies of the published octaves: their lower ends, Hz.
    package static func octaves(rate: Double) -> [Double] { judged(rate: max(rate, slowRate)).map(edge) }
}
