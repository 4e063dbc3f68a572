import LinuxSystem
import Testing

@testable import jostle_swarm

/// Requirement: an order is one line; a wrong one is explained and changes nothing.
@Suite struct SwarmOrderTests {
    @Test(arguments: [
        ("die 3", SwarmOrder.fault(.die, .any(3))),
        ("  die\tswarm-0007 \r", .fault(.die, .board("swarm-0007"))),
        ("lose-store 1", .fault(.loseStore, .any(1))),
        ("stop a-2", .fault(.stop, .board("a-2"))),
        ("die 42-0001", .fault(.die, .board("42-0001"))),
        ("start 12", .fault(.start, .any(12))),
        ("sensor-dead 2", .fault(.killSensor, .any(2))),
        ("duplicate swarm-0001", .duplicate("swarm-0001")),
        ("slow-disk 0.25", .slowDisk(0.25)),
        ("slow-disk 0", .slowDisk(0)),
        ("status", .status),
        ("quit", .quit),
    ])
    func readsOrder(_ line: String, _ order: SwarmOrder) throws {
        #expect(try SwarmOrder(parsing: line) == order)
    }

    @Test func emptyLineIsNoOrder() throws {
        #expect(try SwarmOrder(parsing: "  \t") == nil)
    }

    @Test(arguments: [
        ("dei 3", "there is no order \"dei\""), ("die", "die needs a number of boards or an id"),
        ("die 3 4", "die needs"), ("die 0", "must be 1 or more"), ("die -2", "must be 1 or more"),
        ("die 99999999999999999999", "must be 1 or more"), ("slow-disk", "slow-disk needs a number of seconds"),
        ("slow-disk much", "0 to 60"), ("slow-disk 61", "0 to 60"), ("slow-disk nan", "0 to 60"),
        ("slow-disk -1", "0 to 60"), ("duplicate", "duplicate needs an id"), ("status now", "takes nothing"),
        ("quit 1", "takes nothing"),
    ])
    func explainsWrongOrder(_ line: String, _ text: String) {
        #expect {
            try SwarmOrder(parsing: line)
        } throws: { error in
            "\(error)".contains(text)
        }
    }
}

/// Requirement: an order concerns the boards that it can concern, and the same ones for the same seed.
@Suite struct SwarmModelTests {
    private func model(_ devices: Int = 9, seed: UInt64 = 1) -> SwarmModel {
        SwarmModel(SwarmMember.all(SwarmOptions(devices: devices), below: "/s"), seed: seed)
    }

    @Test func seedRepeatsVictims() throws {
        var one = model(500, seed: 8)
        var other = model(500, seed: 8)
        var third = model(500, seed: 9)
        for _ in 0..<3 {
            let chosen = try one.apply(.die, to: .any(20))
            #expect(Set(chosen).count == 20)
            let repeated = try other.apply(.die, to: .any(20))
            let different = try third.apply(.die, to: .any(20))
            #expect(chosen == repeated)
            #expect(chosen != different)
        }
    }

    @Test func stoppedBoardsCanOnlyBeStarted() throws {
        var model = model()
        let stopped = try model.apply(.stop, to: .board("swarm-0003"))
        #expect(stopped == [2])
        #expect(model.stopped == 1)
        #expect(!model.isUp(2))
        for fault in [SwarmOrder.Fault.die, .stop, .loseStore] {
            #expect(throws: Failure.self) { try model.apply(fault, to: .board("swarm-0003")) }
        }
        #expect(throws: Failure.self) { try model.apply(.start, to: .board("swarm-0004")) }
        let dying = try model.apply(.die, to: .any(8)).sorted()
        #expect(dying == [0, 1, 3, 4, 5, 6, 7, 8])
        let started = try model.apply(.start, to: .any(1))
        #expect(started == [2])
        #expect(model.stopped == 0)
    }

    @Test func refusalChangesNothing() throws {
        var model = model()
        let before = model
        #expect(throws: Failure.self) { try model.apply(.stop, to: .any(10)) }
        #expect(throws: Failure.self) { try model.apply(.stop, to: .board("swarm-0010")) }
        #expect(throws: Failure.self) { try model.apply(.start, to: .any(1)) }
        #expect(model == before)
        #expect {
            try model.board("x")
        } throws: { error in
            "\(error)" == #"there is no board "x"; the boards are swarm-0001 … swarm-0009"#
        }
    }

    @Test func sensorDiesOnce() throws {
        var model = model(2)
        let dead = try model.apply(.killSensor, to: .any(1))
        #expect(dead.count == 1)
        #expect(throws: Failure.self) { try model.apply(.killSensor, to: .any(2)) }
    }

    @Test func orderForDuplicatedIdConcernsBoth() throws {
        var model = model(3)
        model.add("swarm-0002")
        let both = try model.apply(.stop, to: .board("swarm-0002"))
        #expect(both == [1, 3])
        #expect(model.count == 4)
    }
}

/// Requirement: ids, groups and directories follow from the options.
@Suite struct SwarmMemberTests {
    @Test func groupsAreAssignedInTurn() {
        var options = SwarmOptions(devices: 5)
        options.idPrefix = "lab"
        options.groups = ["x", "y"]
        let places = SwarmMember.all(options, below: "/state")
        #expect(places.map(\.id) == ["lab-0001", "lab-0002", "lab-0003", "lab-0004", "lab-0005"])
        #expect(places.map(\.groups) == [["x"], ["y"], ["x"], ["y"], ["x"]])
        #expect(places[1].directory == "/state/lab-0002")
        #expect(places[1].duplicate.id == "lab-0002")
        #expect(places[1].duplicate.directory != places[1].directory)
    }

    @Test func numbersGrowBeyondFourDigits() {
        #expect(SwarmMember.all(SwarmOptions(devices: 10_001), below: "/s").last?.id == "swarm-10001")
    }

    @Test func readsGroups() throws {
        #expect(try SwarmNames.groups("a,b-1,C_2") == ["a", "b-1", "C_2"])
        #expect(try SwarmNames.groups("3") == ["group-1", "group-2", "group-3"])
        for text in ["", "a,,b", "a,a", "_all", "a b", "0", "-1", "10001", "a,#"] {
            #expect(throws: Failure.self, "\(text)") { try SwarmNames.groups(text) }
        }
    }

    @Test func checksPrefix() throws {
        try SwarmNames.check(prefix: "lab", devices: 5)
        try SwarmNames.check(prefix: String(repeating: "p", count: 59), devices: 9999)
        for prefix in ["", "_x", "a/b", "ü", String(repeating: "p", count: 60)] {
            #expect(throws: Failure.self, "\(prefix)") { try SwarmNames.check(prefix: prefix, devices: 5) }
        }
    }
}
