import JostleMessages
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: two devices with the same id are noticed, and a device is not taken for another one.
@Suite struct DuplicateWatchTests {
    private static let topic = "jostle/a/config/reported"

    /// A report, as long after the clock of the bench started as `seconds`.
    private func report(_ run: String, at seconds: Double) -> String {
        #"{"t":\#(1_795_000_000_000 + Int64(seconds * 1000)),"run":"\#(run)"}"#
    }

    /// A board whose first report the broker has.
    private func board(retained: String? = nil) throws -> FleetBench {
        var board = try FleetBench(connects: false)
        board.retained[Self.topic] = retained
        try board.connect()
        board.deliver(.acknowledged(.report))
        #expect(board.takeRequests().isEmpty)
        return board
    }

    private func reconnect(_ board: inout FleetBench, retained: String) throws {
        board.disconnect()
        board.retained[Self.topic] = retained
        try board.connect()
        board.deliver(.acknowledged(.report))
    }

    @Test func noticesAnotherDevice() throws {
        // The report of this board's own last run is no sign of another one.
        var board = try board(retained: report("run-before", at: -100))
        try reconnect(&board, retained: report("run-0", at: 1))
        #expect(board.takeRequests().isEmpty)
        try board.pass(20)
        try reconnect(&board, retained: report("run-of-another", at: 15))
        #expect(board.takeRequests() == [.reportDuplicate(true)])
        #expect(board.takeLines().contains { $0.contains("another device reports under the same id, a") })
        try reconnect(&board, retained: report("run-of-another", at: 60))
        #expect(board.takeRequests().isEmpty, "once")
    }

    /// A broker that was killed restores an older report of this device; so may another broker of the list.
    @Test func ownOlderReportIsNoOtherDevice() throws {
        var board = try board()
        try board.pass(20)
        try reconnect(&board, retained: report("run-before", at: -100))
        try board.pass(20)
        try reconnect(&board, retained: "{}")
        try reconnect(&board, retained: #"{"run":"run-without-time"}"#)
        #expect(board.takeRequests().isEmpty)
    }

    /// The other device got another id: a connection lasts for minutes again.
    @Test func noticesThatTheOtherDeviceIsGone() throws {
        var board = try board()
        try board.pass(20)
        try reconnect(&board, retained: report("run-of-another", at: 15))
        #expect(board.takeRequests() == [.reportDuplicate(true)])
        board.retained[Self.topic] = nil
        for _ in 0..<8 {
            try board.pass(100)
            try board.answerSubscriptions()
        }
        #expect(board.takeRequests() == [.reportDuplicate(false)])
        // And it is noticed again.
        try reconnect(&board, retained: report("run-of-another", at: 5000))
        #expect(board.takeRequests() == [.reportDuplicate(true)])
    }
}
