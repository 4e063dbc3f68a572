import JostleAgent
import MotionCore
import Testing

/// Requirement: a fault that comes again and again is told, and does not fill a log.
@Suite struct LineLimiterTests {
    private func instant(_ seconds: Double) -> Timestamp { Timestamp(seconds: 1000 + seconds) }

    @Test func aFewLinesAreWrittenAtOnce() {
        var limiter = LineLimiter()
        for k in 0..<6 { #expect(limiter.admit(at: instant(0.1 * Double(k))) == 0) }
        #expect(limiter.admit(at: instant(0.7)) == nil)
    }

    @Test func aStormLeavesThreeLinesAMinuteAndTellsWhatIsMissing() {
        var limiter = LineLimiter()
        var written = 0
        var leftOut = 0
        for k in 0..<36_000 {
            guard let missing = limiter.admit(at: instant(0.1 * Double(k))) else { continue }
            written += 1
            leftOut += missing
        }
        #expect((180...187).contains(written))
        // What came after the last line is yet to be told.
        #expect((36_000 - 200...36_000).contains(written + leftOut))
    }

    @Test func afterAPauseThereIsRoomAgain() {
        var limiter = LineLimiter()
        for k in 0..<100 { _ = limiter.admit(at: instant(0.01 * Double(k))) }
        #expect(limiter.admit(at: instant(300)) == 94)
        for k in 1..<6 { #expect(limiter.admit(at: instant(300 + 0.01 * Double(k))) == 0) }
        #expect(limiter.admit(at: instant(300.1)) == nil)
    }
}
