import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: a revision with which a board works no longer is undone, also after crashes, and is not tried again.
@Suite struct ProbationTests {
    private static let all = "jostle/_all/config"

    /// A board with revision 1 proven and revision 2 on probation.
    private func board(_ more: String = "", config: String? = nil) throws -> FleetBench {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        _ = board.takeRequests()
        try board.publish(.all, config.map { layer(2, $0, more) } ?? layer(2, sensitivity: 9, more))
        return board
    }

    private func expectUndone(
        _ board: inout FleetBench, reason: String, _ document: String = layer(2, sensitivity: 9),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try board.layer("all")
        #expect(found["status"] as? String == "rolled_back", sourceLocation: sourceLocation)
        #expect(found["revision"] as? Int == 2 && found["in_force"] as? Int == 1, sourceLocation: sourceLocation)
        #expect((found["reason"] as? String)?.contains(reason) == true, "\(found)", sourceLocation: sourceLocation)
        #expect(board.sensitivity == 3, sourceLocation: sourceLocation)
        // It is refused when it is read again, and another revision is tried.
        try board.receive(Self.all, document)
        #expect(try board.status("all") == "rolled_back 2" && board.sensitivity == 3, sourceLocation: sourceLocation)
        try board.publish(.all, layer(3, sensitivity: 7))
        #expect(try board.status("all") == "applied 3" && board.sensitivity == 7, sourceLocation: sourceLocation)
    }

    @Test func passes() throws {
        var board = try board()
        #expect(try board.layer("all")["probation"] as? Bool == true)
        try board.pass(59)
        #expect(try board.layer("all")["probation"] == nil)
        // From here on nothing is undone.
        board.hasSensor = false
        try board.pass(120)
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 9)
        try board.restart()
        try board.restart()
        try board.restart()
        #expect(board.sensitivity == 9)
    }

    /// The shortest time is over before the sensor counts as silent.
    @Test func silenceIsNoticedInTheShortestProbation() throws {
        var board = try FleetBench(
            "fleet: { probation: 10 s }", retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        try board.publish(.all, layer(2, sensitivity: 9))
        board.hasSensor = false
        try board.pass(20)
        try expectUndone(&board, reason: "the sensor delivers no samples any more")
    }

    @Test func undoneWhenSensorIsSilent() throws {
        var board = try board()
        board.hasSensor = false
        try board.pass(9)
        #expect(board.sensitivity == 9)
        try board.pass(4)
        board.hasSensor = true
        try expectUndone(&board, reason: "delivers no samples")
    }

    /// A board whose sensor was silent before, or whose sensing was stopped, proves nothing by silence.
    @Test func silenceBeforeTheChangeIsNoReason() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        board.hasSensor = false
        try board.pass(70)
        try board.publish(.all, layer(2, sensitivity: 9))
        try board.pass(70)
        #expect(try board.status("all") == "applied 2")
    }

    @Test func stoppedSensingIsNoReason() throws {
        var board = try board()
        board.hasSensor = false
        board.stopSensing()
        try board.pass(70)
        #expect(try board.status("all") == "applied 2")
    }

    @Test func undoneWhenLoopIsLate() throws {
        var board = try board()
        for _ in 0..<3 { board.stall(3.5) }
        try expectUndone(&board, reason: "cannot keep up")
    }

    /// A single long pause, such as that of a suspended process, is no reason.
    @Test func onePauseIsNoReason() throws {
        var board = try board()
        board.stall(30)
        try board.pass(70)
        #expect(try board.status("all") == "applied 2")
    }

    // MARK: Network

    private static let network = #"{"publish":{"attitude":{"rate":200}}}"#

    @Test func undoneWhenCutOffAfterNetworkChange() throws {
        let config = #"{"gestures":{"shake":{"sensitivity":9}},"publish":{"attitude":{"rate":200}}}"#
        var board = try board(config: config)
        board.disconnect(isOwnFault: true)
        try board.pass(70)
        #expect(board.sensitivity == 3)
        try board.connect()
        try expectUndone(&board, reason: "no connection", layer(2, config))
    }

    /// The clock of probation stands still while the broker is away for everybody's reasons.
    @Test func waitsForBroker() throws {
        var board = try board(config: Self.network)
        board.disconnect()
        try board.pass(600)
        #expect(board.settings.publish.attitude.rate == 200)
        try board.connect()
        #expect(try board.layer("all")["probation"] as? Bool == true)
        try board.pass(70)
        #expect(try board.status("all") == "applied 2")
        #expect(try board.layer("all")["probation"] == nil)
    }

    /// A change that does not touch the network is not undone because of the network.
    @Test func cutOffAfterOtherChange() throws {
        var board = try board()
        board.disconnect(isOwnFault: true)
        try board.pass(600)
        try board.connect()
        #expect(board.sensitivity == 9)
    }

    // MARK: Deaths

    @Test func undoneAfterThreeDeaths() throws {
        var board = try board()
        try board.restart()
        try board.restart()
        #expect(board.sensitivity == 9)
        try board.restart()
        try expectUndone(&board, reason: "ended unexpectedly 3 times")
    }

    /// Also if the process dies before it gets to do anything.
    @Test func countsDeathsBeforeConnecting() throws {
        var board = try board()
        try board.restart(connects: false)
        try board.restart(connects: false)
        try board.restart(connects: false)
        #expect(board.sensitivity == 3)
        try board.connect()
        #expect(try board.status("all") == "rolled_back 2")
    }

    /// A process that ends as it should has not died.
    @Test func cleanEndsDoNotCount() throws {
        var board = try board()
        for _ in 0..<5 { try board.restart(isClean: true) }
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 9)
        for _ in 0..<2 {
            try board.restart()
            try board.restart(isClean: true)
        }
        #expect(board.sensitivity == 9, "two deaths")
        try board.restart()
        #expect(board.sensitivity == 3)
    }

    /// A power cut has nothing to do with the configuration: a new boot begins the probation again.
    @Test func newBootBeginsAgain() throws {
        var board = try board()
        for number in 2...6 {
            try board.restart(boot: "boot-\(number)")
            #expect(board.sensitivity == 9)
        }
        try board.restart()
        try board.restart()
        #expect(board.sensitivity == 9)
        try board.restart()
        #expect(board.sensitivity == 3)
    }

    /// A document that comes during the trial does not make the board forget that the sensor worked before.
    @Test func remembersThatTheSensorWorked() throws {
        var board = try board()
        board.hasSensor = false
        try board.restart()
        try board.publish(.device, layer(1, #"{"gestures":{"tap":{"sensitivity":8}}}"#))
        try board.pass(14)
        #expect(try board.status("all") == "rolled_back 2" && board.sensitivity == 3)
    }

    /// Nor that the process died.
    @Test func remembersDeaths() throws {
        var board = try board()
        for revision in 1...3 {
            try board.restart()
            if revision < 3 {
                try board.publish(.device, layer(revision, #"{"gestures":{"tap":{"sensitivity":\#(revision)}}}"#))
            }
        }
        #expect(board.sensitivity == 3)
    }

    /// A new revision in place of the one on trial begins with no deaths.
    @Test func nextRevisionBeginsWithoutDeaths() throws {
        var board = try board()
        for revision in 3...9 {
            try board.restart()
            try board.restart()
            try board.publish(.all, layer(revision, sensitivity: revision))
        }
        #expect(try board.status("all") == "applied 9" && board.sensitivity == 9)
    }

    /// After the command `start`, the first sample takes a while.
    @Test func sensingThatBeginsAgainIsNoReason() throws {
        var board = try board()
        board.hasSensor = false
        board.stopSensing()
        try board.pass(20)
        board.startSensing()
        try board.pass(4)
        board.hasSensor = true
        try board.pass(60)
        #expect(try board.status("all") == "applied 2" && board.layer("all")["probation"] == nil)
    }

    /// While the process is suspended, nothing is proved.
    @Test func suspensionIsNoProof() throws {
        var board = try board()
        board.stall(300)
        #expect(try board.layer("all")["probation"] as? Bool == true)
        try board.pass(60)
        #expect(try board.layer("all")["probation"] == nil)
    }

    // MARK: Several revisions

    /// Revisions that come during probation are undone together: only the state before the first is proven.
    @Test func undoesEverythingOnProbation() throws {
        var board = try board()
        try board.publish(.device, layer(5, #"{"gestures":{"tap":{"sensitivity":9}}}"#))
        try board.publish(.all, layer(3, sensitivity: 8))
        board.hasSensor = false
        try board.pass(20)
        #expect(board.sensitivity == 3 && board.settings.motion.gestures.tap.common.sensitivity == 5)
        #expect(try board.status("all") == "rolled_back 3")
        #expect(try board.status("device") == "rolled_back 5")
    }

    /// A revision that changes nothing is in force without a trial.
    @Test func unchangedSettingsNeedNoProbation() throws {
        var board = try FleetBench()
        try board.publish(.all, layer(1, sensitivity: 5))
        let found = try board.layer("all")
        #expect(found["status"] as? String == "applied" && found["probation"] == nil && board.takeRequests().isEmpty)
    }

    @Test func settingsThatCannotBeAppliedAreUndone() throws {
        var board = try board()
        board.failToApply("the chip does not have this rate")
        try expectUndone(&board, reason: "does not have this rate")
    }

    // MARK: Candidates

    private static func candidate(percent: Int, sensitivity: Int = 9) -> String {
        #""candidate":{"config":{"gestures":{"shake":{"sensitivity":\#(sensitivity)}}},"percent":\#(percent),"seed":"s"}"#
    }

    @Test func candidateReplacesConfig() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.publish(.all, layer(2, sensitivity: 3, Self.candidate(percent: 0)))
        #expect(board.sensitivity == 3)
        #expect(try board.layer("all")["candidate"] as? Bool == false)
        try board.publish(.all, layer(3, sensitivity: 3, Self.candidate(percent: 100)))
        #expect(board.sensitivity == 9)
        #expect(try board.layer("all")["candidate"] as? Bool == true)
        try board.publish(.all, layer(4, sensitivity: 3))
        #expect(board.sensitivity == 3)
    }

    @Test func rejectedCandidateLeavesConfig() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.publish(.all, layer(2, sensitivity: 4, Self.candidate(percent: 100, sensitivity: 90)))
        let found = try board.layer("all")
        #expect(
            found["status"] as? String == "applied" && found["candidate"] as? Bool == false && board.sensitivity == 4)
        let errors = try #require(found["candidate_errors"] as? [[String: String]])
        #expect(errors.first?["path"] == "gestures.shake.sensitivity")
        // The report keeps saying so.
        try board.publish(.device, layer(1, #"{"gestures":{"tap":{"sensitivity":8}}}"#))
        for isRestarted in [false, true] {
            if isRestarted { try board.restart() }
            #expect(try (board.layer("all")["candidate_errors"] as? [[String: String]])?.count == 1)
            #expect(board.sensitivity == 4)
        }
    }

    @Test func undoneCandidateLeavesConfig() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        try board.publish(.all, layer(2, sensitivity: 4, Self.candidate(percent: 100)))
        #expect(board.sensitivity == 9)
        board.hasSensor = false
        try board.pass(14)
        #expect(board.sensitivity == 4, "first its own configuration")
        #expect(try board.status("all") == "rolled_back 2")
        try board.pass(14)
        #expect(board.sensitivity == 3, "which is on probation too")
        board.hasSensor = true
        try board.restart()
        #expect(board.sensitivity == 3)
        #expect(try board.status("all") == "rolled_back 2")
    }

    /// The fraction grows with the percentage and depends on the seed.
    @Test func selectionIsMonotone() throws {
        func selected(_ percent: Double, _ seed: String) throws -> Set<Int> {
            let text =
                #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":\#(percent),"seed":"\#(seed)"}}"#
            let candidate = try #require(try LayerDocument(reading: Array(text.utf8), layer: "all").candidate)
            return Set((0..<2000).filter { candidate.selects("washer-\($0)") })
        }
        #expect(try selected(0, "a").isEmpty)
        #expect(try selected(100, "a").count == 2000)
        let ten = try selected(10, "a")
        #expect((150...250).contains(ten.count))
        #expect(try ten.isSubset(of: selected(25, "a")))
        #expect(try selected(10, "b") != ten)
    }

    // MARK: Disk

    /// What cannot be stored is not applied: a crash would lose the way back.
    @Test func waitsForDisk() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        board.hasWorkingDisk = false
        try board.publish(.all, layer(2, sensitivity: 9))
        let found = try board.layer("all")
        #expect(found["status"] as? String == "pending" && found["in_force"] as? Int == 1 && board.sensitivity == 3)
        #expect((found["reason"] as? String)?.contains("No space left") == true)
        // A newer revision replaces it.
        try board.publish(.all, layer(3, sensitivity: 8))
        try board.repairDisk()
        #expect(try board.status("all") == "applied 3" && board.sensitivity == 8)
    }

    /// Killed at any point, a board has a configuration that is whole.
    @Test(arguments: [false, true]) func killedWhileStoring(isWritten: Bool) throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        board.hasWorkingDisk = isWritten
        try board.publish(.all, layer(2, sensitivity: 9))
        board.hasWorkingDisk = true
        try board.restart(connects: false)
        #expect(board.sensitivity == (isWritten ? 9 : 3))
        try board.connect()
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 9)
    }

    @Test func setsDamagedFileAside() throws {
        let board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        let file = board.directory.path("fleet-layers.json")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for damaged in [
            String(text.dropLast(20)), "{}", text.replacingOccurrences(of: #"\"schema\":1"#, with: "x"), "\u{0}",
        ] {
            #expect(damaged != text)
            try damaged.write(toFile: file, atomically: true, encoding: .utf8)
            var copy = board
            try copy.restart(connects: false)
            #expect(copy.sensitivity == 5)
            try copy.connect()
            #expect(try copy.status("all") == "applied 1")
        }
        #expect(FileManager.default.fileExists(atPath: file + ".bad"))
    }

    /// A program that only shows the configuration changes no file.
    @Test func showingLeavesDamagedFile() throws {
        let directory = try TemporaryDirectory()
        for file in ["fleet-layers.json", "local-settings.json"] { try directory.write("{", to: file) }
        let shown = StoredConfiguration.read(
            try ConfigurationBuilder().finish(), id: "a", in: StateDirectory(path: directory.path))
        #expect(shown.problems.count == 2 && shown.problems.allSatisfy { $0.contains("lost") })
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: directory.path)) == [
                "fleet-layers.json", "local-settings.json",
            ])
    }

    /// Another id, prefix or group is another topic: what was stored for it is dropped, but not how far it had come.
    @Test func dropsLayersOfFormerID() throws {
        let stored = StoredFleet(layers: [
            "jostle/b/config/desired": {
                var layer = StoredLayer(.device)
                layer.highest = AcceptedRevision(DocumentRevision(number: 7, hash: "x"))
                return layer
            }()
        ])
        let layers = FleetLayers(stored, id: "a", settings: JostleSettings())
        #expect(layers.stored.layers.isEmpty && layers.mustStore)
        let former = layers.stored.former
        #expect(former.items.map(\.topic) == ["jostle/b/config/desired"])
        let again = FleetLayers(try StoredFleet(reading: layers.stored.bytes), id: "b", settings: JostleSettings())
        #expect(again.records.last?.stored.highest?.revision == DocumentRevision(number: 7, hash: "x"))
        #expect(again.stored.former.items.isEmpty)
    }
}

extension FleetBench {
    /// A command stops sensing.
    mutating func stopSensing() { bench.participant.setSensingStopped(true) }
    mutating func startSensing() { bench.participant.setSensingStopped(false) }

    /// The loop cannot apply the settings.
    mutating func failToApply(_ reason: String) {
        bench.carryOut(bench.participant.applicationFailed(reason, at: bench.clocks))
    }
}
