import BrokerTestSupport
import JostleConfiguration
import LinuxSystem
import MotionCore
import Testing

@testable import JostlePage
@testable import JostleRuntime

/// Requirement: the running hours are the time for which a machine vibrated today, whatever happens to clocks, boards,
/// connections and this server.
@Suite struct RunningHoursTests {
    /// Midnight of a day, milliseconds since 1970, and the same on the monotonic clock of these tests, seconds.
    private static let midnight: Int64 = 1_795_132_800_000
    private static let start = 5_000_000.0
    private static let today = LocalDay(date: "2026-11-20", midnight: midnight)
    private static let tomorrow = LocalDay(date: "2026-11-21", midnight: midnight + 86_400_000)

    /// The running hours with clocks: seconds since midnight.
    struct Rig {
        var hours: RunningHours
        /// How far the wall clock has been set forward, s.
        var shift = 0.0

        init(at time: Double = 8 * 3600) {
            hours = RunningHours(today, at: Rig.instant(time), milliseconds: midnight + Int64(time * 1000))
        }

        static func instant(_ time: Double) -> Timestamp { Timestamp(seconds: start + time) }

        func wall(_ time: Double) -> Int64 { midnight + Int64((time + shift) * 1000) }

        mutating func state(
            _ isVibrating: Bool?, _ time: Double, published: Double? = nil, isOnline: Bool? = true,
            id: String = "washer"
        ) {
            hours.state(
                id, isVibrating: isVibrating, isOnline: isOnline, time: published.map { wall($0) },
                at: Rig.instant(time), milliseconds: wall(time))
        }

        mutating func availability(_ isOnline: Bool, _ time: Double) {
            hours.availability("washer", isOnline: isOnline, at: Rig.instant(time))
        }

        mutating func heard(_ time: Double) { hours.heard("washer", at: Rig.instant(time)) }

        mutating func advance(_ day: LocalDay, _ time: Double) -> Bool {
            hours.advance(to: day, at: Rig.instant(time), milliseconds: wall(time))
        }

        func seconds(_ time: Double) -> Double { hours.today("washer", at: Rig.instant(time)).seconds.rounded() }

        func since(_ time: Double) -> Double? {
            hours.today("washer", at: Rig.instant(time)).since.map { ($0.seconds - start).rounded() }
        }

        /// The same after a restart of the server, which needed some time.
        func restarted(_ time: Double, _ day: LocalDay = today, saved: Double) throws -> Rig {
            var rig = self
            let text = hours.text(at: Rig.instant(saved), milliseconds: wall(saved))
            rig.hours = try RunningHours(
                reading: text, name: "page-running", day, at: Rig.instant(time), milliseconds: wall(time))
            return rig
        }
    }

    // MARK: A day

    @Test func countsRunsOfToday() {
        var rig = Rig()
        #expect(rig.seconds(30_000) == 0 && rig.since(30_000) == nil)
        rig.state(true, 30_000)
        #expect(rig.seconds(30_060) == 60 && rig.since(30_060) == 30_000)
        rig.state(true, 30_100)
        rig.state(false, 30_120)
        #expect(rig.seconds(31_000) == 120 && rig.since(31_000) == nil)
        rig.state(true, 32_000)
        #expect(rig.seconds(32_010) == 130 && rig.since(32_010) == 32_000)
    }

    @Test func anotherDayCountsFromMidnight() {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.state(false, 30_100)
        rig.state(true, 80_000)
        let isNewDay = rig.advance(Self.tomorrow, 86_402)
        #expect(isNewDay)
        #expect(rig.seconds(86_460) == 60, "only from midnight")
        #expect(rig.since(86_460) == 80_000, "but it runs for longer")
        rig.state(false, 86_500)
        #expect(rig.seconds(90_000) == 100)
        let isAnother = rig.advance(Self.tomorrow, 90_000)
        #expect(!isAnother)
        #expect(rig.seconds(90_000) == 100)
    }

    // MARK: Boards that go away

    @Test func offlineBoardRanUntilItsLastWord() {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.heard(30_050)
        // The broker notices the loss much later.
        rig.availability(false, 30_140)
        #expect(rig.seconds(40_000) == 50 && rig.since(40_000) == nil)
        // What it said before says nothing about now.
        rig.availability(true, 40_000)
        #expect(rig.since(40_010) == nil)
        rig.state(true, 40_020)
        #expect(rig.seconds(40_030) == 60 && rig.since(40_030) == 40_020)
    }

    @Test func stateWithoutVibrationIsNoWord() {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.heard(30_030)
        rig.state(nil, 30_060)
        #expect(rig.seconds(31_000) == 30 && rig.since(31_000) == nil)
    }

    @Test func retainedStateCountsOnlyForBoardThatIsOnline() {
        var rig = Rig()
        rig.state(true, 30_000, published: 29_000, isOnline: nil)
        #expect(rig.since(30_000) == nil)
        rig.availability(false, 30_000)
        #expect(rig.seconds(30_000) == 0 && rig.hours.boards.isEmpty)
        rig.state(true, 30_000, published: 29_000, isOnline: nil)
        rig.availability(true, 30_001)
        #expect(rig.seconds(30_001) == 1001 && rig.since(30_001) == 29_000)
    }

    @Test func timesThatCannotBeRightAreNotBelieved() {
        for time in [-90_000_000.0 * 60, 200_000] {
            var rig = Rig()
            rig.state(true, 30_000, published: time)
            #expect(rig.since(30_010) == 30_000, "\(time)")
        }
    }

    // MARK: Interruptions

    @Test func restartForgetsNothing() throws {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.state(false, 30_100)
        rig.state(true, 31_000)
        rig.heard(31_050)
        rig = try rig.restarted(31_500, saved: 31_060)
        #expect(rig.seconds(31_500) == 150 && rig.since(31_500) == nil, "nothing is known since")
        rig.state(true, 31_501, published: 31_000)
        #expect(rig.seconds(31_510) == 610 && rig.since(31_510) == 31_000, "it ran before and runs now")
    }

    @Test func machineThatEndedDuringRestartRanUntilThen() throws {
        var rig = Rig()
        rig.state(true, 31_000)
        rig.heard(31_050)
        rig = try rig.restarted(31_500, saved: 31_060)
        rig.state(false, 31_501, published: 31_200)
        #expect(rig.seconds(32_000) == 200 && rig.since(32_000) == nil)
    }

    @Test func longInterruptionIsNotCounted() throws {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.heard(30_100)
        var long = try rig.restarted(50_000, saved: 30_100)
        #expect(long.seconds(50_000) == 100)
        long.state(true, 50_000, published: 49_000)
        #expect(long.seconds(50_000) == 1100 && long.since(50_000) == 49_000)
        rig.hours.interrupt()
        rig.state(true, 50_000, published: 49_000)
        #expect(rig.seconds(50_000) == 1100, "as with a broker that was away")
    }

    @Test func lossOfBrokerInterrupts() {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.heard(30_100)
        rig.hours.interrupt()
        #expect(rig.seconds(30_600) == 100 && rig.since(30_600) == nil)
        rig.availability(true, 30_700)
        #expect(rig.since(30_700) == nil, "online alone does not mean that it runs")
        rig.state(true, 30_700, published: 30_000)
        #expect(rig.seconds(30_700) == 700 && rig.since(30_700) == 30_000)
    }

    @Test func restartOverMidnightCountsFromMidnight() throws {
        var rig = Rig()
        rig.state(true, 80_000)
        rig.state(false, 81_000)
        rig.state(true, 86_000)
        rig = try rig.restarted(86_430, Self.tomorrow, saved: 86_300)
        #expect(rig.seconds(86_430) == 0)
        rig.state(true, 86_440, published: 86_000)
        #expect(rig.seconds(86_440) == 40 && rig.since(86_440) == 86_000)
    }

    // MARK: Clocks

    @Test func stepOfTheClockChangesNoDuration() {
        for step in [7200.0, -7200] {
            var rig = Rig()
            rig.state(true, 40_000)
            rig.shift = step
            _ = rig.advance(Self.today, 40_001)
            #expect(rig.seconds(40_060) == 60, "\(step)")
            rig.state(false, 40_100)
            #expect(rig.seconds(50_000) == 100, "\(step)")
        }
    }

    @Test func clockThatIsSetBackOverMidnightForgetsNothing() {
        var rig = Rig()
        rig.state(true, 30_000)
        rig.state(false, 30_100)
        _ = rig.advance(Self.tomorrow, 86_401)
        rig.state(true, 86_402)
        rig.state(false, 86_412)
        rig.shift = -60
        let isNewDay = rig.advance(Self.today, 86_413)
        #expect(!isNewDay && rig.seconds(86_413) == 10)
        rig.shift = 0
        let isAgain = rig.advance(Self.tomorrow, 86_414)
        #expect(isAgain)
    }

    // MARK: Bounds

    @Test func keepsOnlyBoardsThatRanAndNotTooMany() {
        var rig = Rig()
        rig.state(false, 30_000)
        #expect(rig.hours.boards.isEmpty)
        for number in 0..<RunningHours.maximumBoards + 10 { rig.state(true, 30_000, id: "board-\(number)") }
        #expect(rig.hours.boards.count == RunningHours.maximumBoards)
        rig.hours.forget("board-7")
        #expect(rig.hours.boards.count == RunningHours.maximumBoards - 1)
        let size = rig.hours.text(at: Rig.instant(30_001), milliseconds: rig.wall(30_001)).utf8.count
        #expect(size * 64 / 10 < 10 * RunningHours.maximumBytes)
    }

    @Test func largestFileCanBeRead() throws {
        var rig = Rig()
        let tail = String(repeating: "x", count: 58)
        for number in 0..<RunningHours.maximumBoards { rig.state(true, 30_000, id: "\(100_000 + number)\(tail)") }
        let text = rig.hours.text(at: Rig.instant(30_001), milliseconds: rig.wall(30_001))
        #expect(text.utf8.count <= RunningHours.maximumBytes)
        let again = try rig.restarted(30_002, saved: 30_001)
        #expect(again.hours.boards.count == RunningHours.maximumBoards)
    }

    // MARK: The file

    private static func store(_ directory: TemporaryDirectory, _ time: Double = 31_000) -> RunningHoursStore {
        RunningHoursStore(
            directory: directory.path, log: Log(level: .error), at: Rig.instant(time),
            milliseconds: midnight + Int64(time * 1000))
    }

    @Test func fileIsWrittenOnceAMinuteAndAtTheEnd() throws {
        let directory = TemporaryDirectory.absent()
        let store = Self.store(directory)
        func advance(_ time: Double) -> Bool {
            store.advance(at: Rig.instant(time), milliseconds: Self.midnight + Int64(time * 1000)).isMinute
        }
        #expect(!advance(31_010) && !advance(31_059))
        #expect(advance(31_060) && !advance(31_061))
        store.hours.state(
            "washer", isVibrating: true, isOnline: true, time: nil, at: Rig.instant(31_070), milliseconds: 0)
        store.hours.heard("washer", at: Rig.instant(31_080))
        store.finish(at: Rig.instant(31_090), milliseconds: Self.midnight + 31_090_000)
        let again = Self.store(directory, 31_100)
        #expect(again.hours.today("washer", at: Rig.instant(31_100)).seconds.rounded() == 10)
    }

    @Test(arguments: [
        "", "{", "[]", "{\"schema\":2}", "{\"schema\":1,\"date\":\"2026-11-20\",\"boards\":[]}",
        "{\"schema\":1,\"date\":7,\"boards\":{}}",
        "{\"schema\":1,\"date\":\"2026-11-20\",\"boards\":{\"<b>\":{\"seconds\":1}}}",
        "{\"schema\":1,\"date\":\"2026-11-20\",\"boards\":{\"a\":{\"seconds\":-1}}}",
        "{\"schema\":1,\"date\":\"2026-11-20\",\"boards\":{\"a\":{\"seconds\":\"1\"}}}",
        "{\"schema\":1,\"date\":\"2026-11-20\",\"boards\":{\"a\":{\"seconds\":1,\"since\":1e300,\"heard\":2}}}",
    ])
    func damagedFileIsSetAsideAndCostsNothingElse(_ text: String) throws {
        let directory = TemporaryDirectory.absent()
        let good = Self.store(directory)
        good.finish(at: Rig.instant(31_000), milliseconds: Self.midnight + 31_000_000)
        try directory.write(text, to: "page-running")
        let store = Self.store(directory)
        #expect(store.hours.boards.isEmpty)
        #expect(FileContents.text(ofOptional: directory.path + "/page-running.bad", limit: 1000) == text)
        store.finish(at: Rig.instant(31_000), milliseconds: Self.midnight + 31_000_000)
        _ = try RunningHours(
            reading: try FileContents.text(of: directory.path + "/page-running", limit: 1000), name: "x", Self.today,
            at: Rig.instant(31_000), milliseconds: Self.midnight + 31_000_000)
    }

    @Test func dayBeginsAtLocalMidnight() {
        let day = LocalDay(milliseconds: 1_795_182_603_123)
        #expect(WallClock.secondsSinceMidnight(milliseconds: day.midnight) == 0)
        #expect((0..<86_400_000).contains(1_795_182_603_123 - day.midnight))
        #expect(LocalDay(milliseconds: day.midnight).date == day.date)
        #expect(LocalDay(milliseconds: day.midnight - 1).date < day.date)
    }
}
