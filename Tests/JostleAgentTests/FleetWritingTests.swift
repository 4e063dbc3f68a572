import JostleMessages
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: what happens while a document is being written to the disk is neither lost nor undone when it takes
/// effect.
@Suite struct FleetWritingTests {
    private static let all = "jostle/_all/config"

    /// A board with a proven revision 1 of the layer `all`.
    private func board() throws -> FleetBench {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        return board
    }

    @Test func undoneMeanwhile() throws {
        var board = try board()
        try board.publish(.all, layer(2, sensitivity: 9))
        board.hasWorkingDisk = false
        try board.publish(.device, layer(1, #"{"gestures":{"tap":{"sensitivity":8}}}"#))
        board.hasSensor = false
        try board.pass(14)
        board.hasSensor = true
        #expect(try board.status("all") == "rolled_back 2" && board.sensitivity == 3)
        try board.repairDisk()
        for isRestarted in [false, true] {
            if isRestarted { try board.restart() }
            #expect(try board.status("all") == "rolled_back 2" && board.sensitivity == 3)
            #expect(try board.status("device") == "applied 1")
            #expect(board.settings.motion.gestures.tap.common.sensitivity == 8)
        }
    }

    @Test func setAtHomeMeanwhile() throws {
        var board = try FleetBench()
        try board.receive("jostle/a/set/gestures.shake.sensitivity", "7")
        board.hasWorkingDisk = false
        // It changes nothing yet.
        try board.publish(.all, layer(1, sensitivity: 7))
        try board.receive("jostle/a/set/gestures.shake.sensitivity", "4")
        #expect(board.takeRequests().count == 2 && board.sensitivity == 4)
        try board.repairDisk()
        #expect(board.takeRequests() == [.apply(board.settings)] && board.sensitivity == 7)
    }

    @Test func provedMeanwhile() throws {
        var board = try board()
        try board.publish(.all, layer(2, sensitivity: 9))
        board.hasWorkingDisk = false
        try board.publish(.device, layer(1, "{}"))
        try board.pass(70)
        try board.repairDisk()
        #expect(try board.layer("device")["probation"] == nil && board.layer("all")["probation"] == nil)
        for _ in 0..<4 { try board.restart() }
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 9)
    }

    @Test func groupLeftMeanwhile() throws {
        let topic = "jostle/_registry/a"
        var board = try FleetBench(retained: [
            topic: #"{"schema":1,"revision":1,"groups":["g"]}"#, "jostle/_group/g/config": layer(1, sensitivity: 8),
        ])
        try board.answerSubscriptions()
        try board.pass(70)
        #expect(board.sensitivity == 8)
        board.hasWorkingDisk = false
        try board.publish(topic, #"{"schema":1,"revision":2,"groups":[]}"#)
        try board.pass(9)
        try board.repairDisk()
        #expect(try board.report()["groups"] as? [String] == [] && board.sensitivity == 5)
    }

    /// Several documents on one topic while the first of them waits: the result does not depend on the disk.
    @Test(arguments: [true, false])
    func olderRevision(hasWorkingDisk: Bool) throws {
        var board = try board()
        board.hasWorkingDisk = hasWorkingDisk
        try board.publish(.all, layer(6, sensitivity: 6))
        try board.publish(.all, layer(5, sensitivity: 5))
        if !hasWorkingDisk { try board.repairDisk() }
        #expect(try board.status("all") == "stale 5" && board.sensitivity == 6)
        try board.publish(.all, layer(7, sensitivity: 7))
        #expect(try board.status("all") == "applied 7" && board.sensitivity == 7)
    }

    @Test(arguments: [true, false])
    func sameRevision(hasWorkingDisk: Bool) throws {
        var board = try board()
        board.hasWorkingDisk = hasWorkingDisk
        try board.publish(.all, layer(6, sensitivity: 6))
        try board.publish(.all, layer(6, sensitivity: 5))
        if !hasWorkingDisk { try board.repairDisk() }
        #expect(try board.status("all") == "conflict 6" && board.sensitivity == 6)
        // The accepted one, read again.
        try board.receive(Self.all, layer(6, sensitivity: 6))
        #expect(try board.status("all") == "applied 6")
    }

    /// A document that waits for another layer's writing turns out to be invalid: the one after it counts.
    @Test func olderRevisionAfterInvalidOne() throws {
        var board = try board()
        board.hasWorkingDisk = false
        try board.publish(.device, layer(1, #"{"gestures":{"tap":{"sensitivity":8}}}"#))
        try board.publish(.all, layer(6, sensitivity: 70))
        try board.publish(.all, layer(5, sensitivity: 5))
        try board.repairDisk()
        #expect(try board.status("all") == "applied 5" && board.sensitivity == 5)
        #expect(try board.status("device") == "applied 1")
    }

    /// The same while the layers are read after a connection.
    @Test func olderRevisionWhileReading() throws {
        var board = try FleetBench(connects: false)
        board.retained[Self.all] = layer(6, sensitivity: 6)
        board.deliver(.connected)
        try board.answerSubscriptions()
        try board.receive(Self.all, layer(5, sensitivity: 5))
        try board.pass(1)
        #expect(try board.status("all") == "stale 5" && board.sensitivity == 6)
    }
}
