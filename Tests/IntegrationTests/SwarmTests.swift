import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a swarm's boards behave at the broker as boards do, and fall ill when they are told to.
@Suite(.needsBroker) struct SwarmTests {
    private let rig = Rig()

    @Test func boardsComeOnlineReportAndLeave() async throws {
        let rig = try await SwarmRig(devices: 50, "--groups", "a,b,c")
        let ids = SwarmRig.ids(50)
        #expect(await rig.says("all 50 boards are online"))
        for id in ids {
            #expect(await rig.observer.sees { !$0.messages("config/reported", of: id).isEmpty }, "\(id)")
            #expect(await rig.observer.sees { !$0.messages("state", of: id).isEmpty }, "\(id)")
            #expect(await rig.observer.sees { !$0.messages("health", of: id).isEmpty }, "\(id)")
        }
        let health = try #require(try rig.observer.objects("health", of: ids[3]).last)
        #expect(health["sensor_state"] as? String == "streaming")
        rig.order("status")
        #expect(await rig.says(#""groups":{"a":17,"b":17,"c":16}"#))
        let figures = try rig.figures()
        #expect(figures["online"] as? Int == 50)
        #expect(figures["deaths"] as? Int == 0)

        rig.swarm.signal(SIGTERM)
        #expect(await rig.swarm.exitStatus() == 0)
        for id in ids {
            #expect(await rig.observer.sees { _ in rig.availabilities(of: id) == ["online", "offline"] }, "\(id)")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: rig.directory.path("temporary"))
        #expect(left.isEmpty)
        #expect(rig.swarm.errors.isEmpty, "\(rig.swarm.errors)")
    }

    @Test func valueSurvivesDeathButNotTheLossOfTheStore() async throws {
        let rig = try await SwarmRig(devices: 5, "--death-pause", "0.2")
        let id = "swarm-0004"
        let key = "publish.health.interval"
        try rig.observer.publish("jostle/\(id)/set/\(key)", "7 s")
        #expect(await rig.observer.sees { _ in try rig.origin(key, of: id) == "local" })
        #expect(try rig.origin(key, of: "swarm-0003") == nil)

        let reports = rig.observer.messages("config/reported", of: id).count
        rig.order("die \(id)")
        // The broker publishes the will, then the board starts again with the same id and what it has stored.
        #expect(await rig.observer.sees { _ in rig.availabilities(of: id) == ["online", "offline", "online"] })
        #expect(await rig.observer.sees { $0.messages("config/reported", of: id).count > reports })
        #expect(try rig.origin(key, of: id) == "local")

        rig.order("lose-store \(id)")
        #expect(await rig.observer.sees { _ in try rig.origin(key, of: id) == nil })
        #expect(rig.availabilities(of: "swarm-0003") == ["online"])
    }

    @Test func answersCommandsThatNeedNoSensor() async throws {
        let rig = try await SwarmRig(
            devices: 2, "--set", "commands.allow=[ping, get-state, tare, log, restart]", "--verbose", "--set",
            "log.level=debug")
        let id = "swarm-0002"
        for name in ["ping", "get-state", "tare", "log", "restart"] {
            try rig.observer.publish("jostle/\(id)/command/\(name)")
        }
        let codes: [(String, String?)] = [
            ("ping", nil), ("get-state", nil), ("tare", "sensor_unavailable"), ("log", "unavailable"),
        ]
        for (name, code) in codes {
            #expect(await rig.observer.sees { !$0.messages("command/\(name)/result", of: id).isEmpty }, "\(name)")
            let answer = try #require(try rig.observer.objects("command/\(name)/result", of: id).first)
            #expect(answer["ok"] as? Bool == (code == nil), "\(name)")
            #expect(answer["error"] as? String == code, "\(name)")
        }
        #expect(await rig.observer.sees { !$0.messages("command/restart/result", of: id).isEmpty })
        #expect(await rig.observer.sees { _ in rig.availabilities(of: id) == ["online", "offline", "online"] })
        #expect(rig.availabilities(of: "swarm-0001") == ["online"])
    }

    @Test func stoppedBoardStaysAwayUntilItIsStarted() async throws {
        let rig = try await SwarmRig(devices: 3, "--death-pause", "0.2")
        rig.order("stop swarm-0002")
        #expect(await rig.observer.sees { _ in rig.availabilities(of: "swarm-0002") == ["online", "offline"] })
        rig.order("die 2")
        #expect(await rig.says("die: "))
        for id in ["swarm-0001", "swarm-0003"] {
            #expect(await rig.observer.sees { _ in rig.availabilities(of: id) == ["online", "offline", "online"] })
        }
        #expect(rig.availabilities(of: "swarm-0002") == ["online", "offline"])
        rig.order("start 1")
        let expected = ["online", "offline", "online"]
        #expect(await rig.observer.sees { _ in rig.availabilities(of: "swarm-0002") == expected })
    }

    /// The broker closes the older of two connections with the same client id, again and again.
    @Test func duplicateTakesTheConnectionAway() async throws {
        let rig = try await SwarmRig(devices: 2, "--json")
        rig.order("duplicate swarm-0001")
        #expect(await rig.says(#"{"order":"duplicate","boards":["swarm-0001"]}"#))
        #expect(
            await rig.observer.sees { _ in
                let figures = try rig.figures()
                return figures["boards"] as? Int == 3 && (figures["connection_losses"] as? Int ?? 0) >= 2
            })
        #expect(rig.availabilities(of: "swarm-0002") == ["online"])
    }

    @Test func deadSensorDeliversNoSamples() async throws {
        let rig = try await SwarmRig(devices: 2, "--set", "publish.health.interval=1s")
        func samples() throws -> [Int] {
            try rig.observer.objects("health", of: "swarm-0001").compactMap { $0["samples"] as? Int }
        }
        #expect(await rig.observer.sees { _ in try samples().count { $0 > 0 } >= 2 })
        rig.order("sensor-dead swarm-0001")
        #expect(await rig.observer.sees { _ in try Set(samples().suffix(3)).count == 1 && samples().count >= 5 })
        let health = try #require(try rig.observer.objects("health", of: "swarm-0001").last)
        #expect(health["problems"] as? [String] == ["sensor"])
        let other = try rig.observer.objects("health", of: "swarm-0002").compactMap { $0["samples"] as? Int }
        #expect(Set(other).count == other.count)
    }

    /// A shake that was open at a death is cancelled at the next start, by the outbox's file.
    @Test func shakesGoThroughTheOutboxAndAreClosedAfterDeath() async throws {
        let rig = try await SwarmRig(devices: 3, "--events", "6000", "--death-pause", "0.2")
        let ids = SwarmRig.ids(3)
        for id in ids {
            #expect(
                await rig.observer.sees { try Set($0.events("shake", of: id).map(\.phase)) == ["began", "ended"] })
        }
        for id in ids {
            // A death between two shakes leaves none open, so more than one may be needed.
            var isCancelled = false
            for deaths in 1...10 where !isCancelled {
                rig.order("die \(id)")
                #expect(
                    await rig.observer.sees { try Set($0.events("shake", of: id).map(\.run)).count == deaths + 1 })
                isCancelled = try rig.observer.objects("event/shake", of: id).contains {
                    $0["reason"] as? String == "restarted" && $0["phase"] as? String == "cancelled"
                }
            }
            #expect(isCancelled, "\(id)")
        }
    }

    /// Every shake that began has an end, also at the end of the swarm.
    @Test func openShakesEndWhenBoardsLeave() async throws {
        let rig = try await SwarmRig(devices: 6, "--events", "9000")
        let ids = SwarmRig.ids(6)
        for id in ids { #expect(await rig.observer.sees { try $0.events("shake", of: id).count > 2 }) }
        rig.order("quit")
        #expect(await rig.swarm.exitStatus() == 0, "\(rig.swarm.errors)")
        for id in ids {
            #expect(await rig.observer.sees { $0.texts("availability", of: id).last == "offline" })
            let phases = try rig.observer.events("shake", of: id).map(\.phase)
            #expect(phases.count { $0 == "began" } == phases.count { $0 != "began" }, "\(id): \(phases)")
        }
    }

    /// A board whose state cannot be written starts all the same, as an agent does.
    @Test func boardStartsWithoutADisk() async throws {
        let rig = try await SwarmRig(devices: 1, "--json")
        // The board's name is written at the start.
        #expect(await rig.observer.sees { _ in try rig.figures()["writes"] as? Int == 1 })
        let root = try #require(
            try FileManager.default.contentsOfDirectory(atPath: rig.directory.path("temporary")).first)
        let state = rig.directory.path("temporary/\(root)/swarm-0001")
        try FileManager.default.removeItem(atPath: state)
        try Data().write(to: URL(fileURLWithPath: state))
        // A write that cannot be done.
        try rig.observer.publish("jostle/swarm-0001/set/publish.health.interval", "7 s")
        #expect(await rig.observer.sees { _ in try rig.origin("publish.health.interval", of: "swarm-0001") == "local" })
        rig.order("die 1")
        #expect(await rig.observer.sees { _ in try rig.figures()["starts"] as? Int == 2 })
    }

    @Test func deathsHappenByThemselves() async throws {
        let rig = try await SwarmRig(devices: 10, "--deaths", "600", "--death-pause", "0.1", "--json")
        #expect(await rig.observer.sees { _ in (try rig.figures()["deaths"] as? Int ?? 0) >= 10 })
        #expect(await rig.observer.sees { _ in (try rig.figures()["starts"] as? Int ?? 0) >= 20 })
    }

    /// A disk that does not answer delays the end by some seconds only.
    @Test(.enabled(if: Products.hasStallingDisk, "libStallingDisk.so was not built"), arguments: ["quit", "SIGTERM"])
    func endsWithoutADisk(end: String) async throws {
        let rig = try await SwarmRig(devices: 3, "--json", stallsDisk: true)
        try rig.directory.write("", to: "stall")
        try rig.observer.publish("jostle/swarm-0001/set/publish.health.interval", "7 s")
        #expect(await rig.observer.sees { _ in try rig.origin("publish.health.interval", of: "swarm-0001") == "local" })
        if end == "quit" { rig.order("quit") } else { rig.swarm.signal(SIGTERM) }
        #expect(await rig.swarm.exitStatus(within: .seconds(60)) == 0, "\(rig.swarm.errors)")
        #expect(rig.swarm.errors.contains("not all state files are on the disk"), "\(rig.swarm.errors)")
        // Without a file in it, the directory can be removed.
        let left = try FileManager.default.contentsOfDirectory(atPath: rig.directory.path("temporary"))
        let isNamed = rig.swarm.errors.contains("is left behind: the disk does not remove it in time")
        #expect(isNamed || left.isEmpty, "\(rig.swarm.errors)")
        for id in SwarmRig.ids(3) { #expect(rig.availabilities(of: id).last == "offline") }
    }

    @Test func slowDiskDelaysWrites() async throws {
        let rig = try await SwarmRig(devices: 1, "--json")
        // The board's name is written at the start.
        #expect(await rig.observer.sees { _ in try rig.figures()["writes"] as? Int == 1 })
        let key = "publish.health.interval"
        func keeps(_ text: String) -> Bool {
            let path = rig.directory.path("temporary")
            let root = (try? FileManager.default.contentsOfDirectory(atPath: path))?.first ?? ""
            let file = "\(path)/\(root)/swarm-0001/local-settings.json"
            return (try? String(contentsOfFile: file, encoding: .utf8))?.contains(text) ?? false
        }
        rig.order("slow-disk 60")
        #expect(await rig.says(#"{"order":"slow-disk 60""#))
        // The first write is slow when it is done; the second one waits for it.
        try rig.observer.publish("jostle/swarm-0001/set/\(key)", "7 s")
        #expect(await eventually { keeps("7") })
        try rig.observer.publish("jostle/swarm-0001/set/\(key)", "8 s")
        #expect(
            await rig.observer.sees { observer in
                try observer.objects("config/reported", of: "swarm-0001").contains { report in
                    let settings = report["settings"] as? [String: Any]
                    let health = (settings?["publish"] as? [String: Any])?["health"] as? [String: Any]
                    return "\(health?["interval"] ?? "")".hasPrefix("8")
                }
            })
        #expect(!keeps("8"))
    }
}
