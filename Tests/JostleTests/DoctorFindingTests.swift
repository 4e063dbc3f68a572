import BrokerTestSupport
import JostleOperator
import LinuxSensors
import MosquittoClient
import MotionCore
import Testing

@testable import LinuxSystem
@testable import jostle

/// Requirement: `jostle doctor` names what a newcomer gets wrong, and the exact next step. These are the findings that
/// need another board, disk, clock or service than the tests have.
@Suite struct DoctorFindingTests {
    // MARK: I2C buses

    private func bus(_ number: Int) -> I2CBus { I2CBus(number: number) }

    @Test func saysHowToSwitchI2COn() throws {
        let pi = BoardBuses(buses: [], adapters: [], model: "Raspberry Pi 4 Model B Rev 1.4").finding(wanted: nil)
        #expect(pi.verdict == .failed && pi.text.contains("I2C is switched off"))
        #expect(pi.steps.first == "sudo raspi-config nonint do_i2c 0")
        let other = BoardBuses(buses: [], adapters: [], model: "Orange Pi Zero 2").finding(wanted: nil)
        #expect(other.steps.contains { $0.contains("device tree") })
        let module = BoardBuses(buses: [], adapters: ["i2c-1"], model: nil).finding(wanted: nil)
        #expect(module.text.contains("i2c-dev is not loaded"))
        #expect(module.steps.count == 1 && module.steps[0].hasPrefix("sudo modprobe i2c-dev"))
    }

    @Test func namesTheBusesThatThereAre() throws {
        let wrong = BoardBuses(buses: [bus(99_901), bus(99_903)], adapters: [], model: nil)
            .finding(wanted: "/dev/i2c-99999")
        #expect(wrong.verdict == .failed && wrong.status == .configuration)
        #expect(wrong.text.hasSuffix("there are /dev/i2c-99901, /dev/i2c-99903"), "\(wrong.text)")
        let right = BoardBuses(buses: [bus(99_901)], adapters: [], model: nil).finding(wanted: nil)
        #expect(right == .ok(.bus, "/dev/i2c-99901"))
    }

    // MARK: The service

    private func unit(_ changes: String) throws -> ServiceUnit {
        let properties = """
            LoadState=loaded
            ActiveState=active
            UnitFileState=enabled
            Result=success
            ExecMainStatus=0
            NRestarts=0
            MainPID=812
            User=jostle
            SupplementaryGroups=i2c iio gpio
            StateDirectory=jostle

            """
        return try #require(ServiceUnit("jostle.service", properties: properties + changes))
    }

    private func unitName(reading file: String) -> String? {
        InstalledService.name(reading: file).map(InstalledService.unit)
    }

    private func service(_ changes: String, lastError: String? = nil) throws -> [Finding] {
        try unit(changes).findings(lastError: lastError)
    }

    @Test func readsPropertiesOfTheService() throws {
        let unit = try unit("")
        #expect(unit.process == 812 && unit.user == "jostle" && unit.stateDirectory == "/var/lib/jostle")
        #expect(unit.supplementaryGroups == ["i2c", "iio", "gpio"])
        #expect(ServiceUnit("x", properties: "") == nil)
        #expect(unitName(reading: "/etc/jostle/jostle.yaml") == "jostle.service")
        #expect(unitName(reading: "/etc/jostle/left.yaml") == "jostle@left.service")
        #expect(unitName(reading: "/etc/jostle/conf.d/left.yaml") == nil)
        #expect(unitName(reading: "left.yaml") == nil)
    }

    /// In a container and on another system, the package may be installed although systemd knows nothing of it.
    @Test func judgesAServiceThatSystemdDoesNotKnow() {
        let unit = "jostle@left.service"
        #expect(InstalledService.unitFiles(unit).contains("/usr/lib/systemd/system/jostle@.service"))
        #expect(InstalledService.unitFiles("jostle.service").contains("/usr/lib/systemd/system/jostle.service"))
        let container = ExaminedAgent.absence(of: unit, hasSystemd: false, isInstalled: true)
        #expect(container.verdict == .warning && container.text.contains("is installed, but systemd does not run here"))
        #expect(container.steps.first?.contains("jostle run") == true)
        #expect(ExaminedAgent.absence(of: unit, hasSystemd: true, isInstalled: true).verdict == .unknown)
        for hasSystemd in [true, false] {
            let absent = ExaminedAgent.absence(of: unit, hasSystemd: hasSystemd, isInstalled: false)
            #expect(absent.text.contains("is not installed"))
            #expect(absent.steps.first?.hasPrefix("sudo apt install") == true)
        }
    }

    @Test func judgesTheService() throws {
        #expect(try service("") == [.ok(.service, "jostle.service runs")])
        let disabled = try service("UnitFileState=disabled")
        #expect(disabled.map(\.verdict) == [.ok, .warning])
        #expect(disabled[1].steps == ["sudo systemctl enable jostle.service"])
        let stopped = try service("ActiveState=inactive\nUnitFileState=disabled")
        #expect(stopped[0].verdict == .failed)
        #expect(stopped[0].steps == ["sudo systemctl enable --now jostle.service"])
        let restarted = try service("NRestarts=7", lastError: "the sensor is lost")
        #expect(restarted[0].verdict == .warning && restarted[0].text.contains("7 times"))
        #expect(restarted[0].text.hasSuffix("the sensor is lost"))
        let failed = try service("ActiveState=failed\nResult=exit-code\nExecMainStatus=78", lastError: "line 3: no key")
        #expect(failed[0].verdict == .failed && failed[0].text.contains("status 78, the configuration is invalid"))
        #expect(failed[0].text.hasSuffix("line 3: no key"))
        let looping = try service("ActiveState=activating\nResult=exit-code\nExecMainStatus=217")
        #expect(looping[0].text.contains("again and again") && looping[0].text.contains("its user does not exist"))
        let watchdog = try service("ActiveState=failed\nResult=watchdog\nExecMainStatus=0")
        #expect(watchdog[0].text.contains("failed: watchdog"))
        #expect(try service("LoadState=masked")[0].steps == ["sudo systemctl unmask jostle.service"])
    }

    // MARK: The board

    @Test func judgesTheClock() {
        #expect(BoardExamination.clock(isSynchronised: true, year: 2026).verdict == .ok)
        #expect(BoardExamination.clock(isSynchronised: false, year: 2026).verdict == .warning)
        #expect(BoardExamination.clock(isSynchronised: nil, year: 2026).verdict == .unknown)
        let old = BoardExamination.clock(isSynchronised: false, year: 1970)
        #expect(old.verdict == .failed && old.text.contains("1970"))
    }

    @Test func judgesTheDisk() {
        func disk(_ free: Double, files: UInt64? = 1_000_000, isReadOnly: Bool = false) -> Finding {
            let space = DiskSpace(free: free, total: 1e10, freeFiles: files, isReadOnly: isReadOnly)
            return BoardExamination.finding(space, of: "/var/lib/jostle")
        }
        #expect(disk(5e9).verdict == .ok && disk(5e9, files: nil).verdict == .ok)
        #expect(disk(50e6).verdict == .warning && disk(50e6).text.contains("50 MB"))
        #expect(disk(0).verdict == .failed && disk(0).text.contains("full"))
        #expect(disk(5e9, files: 3).verdict == .failed)
        #expect(disk(5e9, isReadOnly: true).text.contains("read-only"))
        #expect(BoardExamination.finding(nil, of: "/x").verdict == .unknown)
        #expect(BoardExamination.disk(of: "/no/such/directory") != nil)
    }

    @Test func judgesMemory() {
        #expect(BoardExamination.memory("MemTotal: 512000 kB\nMemAvailable:  301000 kB\n").verdict == .ok)
        #expect(BoardExamination.memory("MemAvailable:  30100 kB\n").verdict == .warning)
        #expect(BoardExamination.memory("").verdict == .unknown)
    }

    // MARK: The state directory

    @Test func judgesTheStateDirectory() throws {
        let directory = try TemporaryDirectory()
        let stranger = FileReader(name: "stranger", user: 64_001, groups: [64_001])
        let refused = StateExamination.finding(directory.path, reader: stranger, unit: nil)
        #expect(refused.verdict == .failed && refused.status == .permission)
        #expect(refused.steps.first == "sudo chown -R stranger:stranger \(directory.path)")
        let own = StateExamination.finding(directory.path, reader: .ownProcess, unit: nil)
        #expect(own == .ok(.state, "\(directory.path) can be written"))
        let missing = StateExamination.finding("/no/such", reader: .ownProcess, unit: try unit(""))
        #expect(missing.verdict == .warning)
    }

    @Test func namesAnotherAgentInTheStateDirectory() throws {
        let other = ChipLock.Holder(processIdentifier: 99, name: "jostle")
        let finding = StateExamination.finding(of: other, "/var/lib/jostle", unit: try unit(""))
        #expect(finding.verdict == .failed && finding.steps == ["sudo kill 99"])
        let itself = ChipLock.Holder(processIdentifier: 812, name: "jostle")
        #expect(StateExamination.finding(of: itself, "/var/lib/jostle", unit: try unit("")).verdict == .ok)
    }

    // MARK: Its own broker

    @Test func needsMosquittoForItsOwnBroker() {
        let none = BrokerExamination.embedded(isInstalled: false, discovery: true)
        #expect(none.map(\.verdict) == [.failed] && none[0].steps.first == "sudo apt install mosquitto")
        #expect(BrokerExamination.embedded(isInstalled: true, discovery: false).map(\.verdict) == [.ok])
        #expect(BrokerExamination.embedded(isInstalled: true, discovery: true).map(\.verdict) == [.ok, .warning])
    }

    @Test(arguments: [
        ("broker.local", "passwd: files\nhosts:          files dns\n", true), ("Broker.LOCAL", "", true),
        ("broker.local", "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", false),
        ("broker.local", "hosts: files resolve [!UNAVAIL=return] dns\n", false),
        ("broker.example", "hosts: files dns\n", false), ("local", "hosts: files dns\n", false),
    ])
    func localNamesNeedMulticastDNS(host: String, services: String, isMissing: Bool) {
        let steps = BrokerExamination.steps(forUnknown: host, nameServices: services, ["Check the name"])
        #expect(steps.contains("getent hosts \(host)"))
        #expect(steps.contains { $0.hasSuffix("sudo apt install libnss-mdns") } == isMissing)
        #expect(steps.contains("Check the name") != isMissing)
    }

    // MARK: The agent

    private func device(_ messages: (topic: String, text: String)...) -> FleetBoard {
        var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
        for (topic, text) in messages {
            _ = model.update(
                with: MQTTMessage(topic: "jostle/dut/\(topic)", text: text, retain: true), at: Timestamp(nanoseconds: 1)
            )
        }
        return model.boards["dut"] ?? FleetBoard(id: "dut")
    }

    private func agent(_ device: FleetBoard, isService: Bool = true) -> [Finding] {
        AgentExamination.findings(device, topic: "jostle/dut", isService: isService)
    }

    @Test func judgesWhatTheAgentReports() {
        #expect(agent(device())[0].verdict == .failed)
        #expect(agent(device(), isService: false)[0].verdict == .ok)
        #expect(
            AgentExamination.findings(device(), topic: "jostle/dut", isService: true, isRetained: false)[0].verdict
                == .unknown)
        #expect(agent(device(("availability", "offline")))[0].verdict == .failed)
        #expect(agent(device(("availability", "offline")), isService: false)[0].verdict == .ok)
        #expect(agent(device(("availability", "online")))[0].verdict == .warning)
        let sound = device(
            ("availability", "online"),
            ("health", #"{"version":"1.0","sensor":"MPU-6050 at 0x68","rate":199.8,"problems":[]}"#))
        #expect(agent(sound) == [.ok(.agent, "online, version 1.0, MPU-6050 at 0x68, 199.8 Hz")])
        let stopped = device(
            ("availability", "online"), ("health", #"{"problems":[],"stopped":true}"#))
        #expect(agent(stopped)[0].steps == ["jostle start"])
        let ill = agent(
            device(
                ("availability", "online"),
                ("health", #"{"problems":["sensor","duplicate_id","new"],"sensor_fault":"the bus is stuck"}"#)))
        #expect(ill.count == 3 && ill.allSatisfy { $0.verdict == .warning && !$0.steps.isEmpty })
        #expect(ill[0].text.hasSuffix("it does not measure: the bus is stuck"))
        #expect(ill[1].text.contains("another device has the same id"))
        let rule = #"{"problems":["actions"],"actions":{"failed":1,"faults":["siren: /bin/siren: Permission denied"]}}"#
        #expect(
            agent(device(("availability", "online"), ("health", rule)))[0].text.hasSuffix(
                "a program or a webhook of a rule failed: siren: /bin/siren: Permission denied"))
    }

    // MARK: What the sensor measures

    /// Samples at 100 Hz; the noise is the same in each run.
    private func samples(
        _ count: Int = 300, gravity: Double = standardGravity, noise: Double = 0.02, rotationNoise: Double = 0.001,
        sway: Double = 0, gapAt: Int? = nil
    ) -> [MotionSample] {
        var state: UInt64 = 1
        func random() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(state >> 11) / Double(1 << 53) * 3.46 - 1.73
        }
        return (0..<count).map { index in
            let swing = sway * (index / 50 % 2 == 0 ? 1 : -1)
            var sample = MotionSample(
                timestamp: Timestamp(nanoseconds: Int64(index) * 10_000_000),
                acceleration: Vector3(noise * random() + swing, noise * random(), gravity + noise * random()),
                rotationRate: Vector3(rotationNoise * random(), rotationNoise * random(), rotationNoise * random()))
            if index == gapAt { sample.flags.insert(.afterGap) }
            return sample
        }
    }

    private func measured(
        _ samples: [MotionSample], nominal: Double = 100, part: String = "MPU-6050"
    ) throws -> [Finding] {
        try #require(RestStatistics(samples)).findings(nominal: nominal, part: part)
    }

    @Test func judgesASoundSensor() throws {
        let findings = try measured(samples())
        #expect(findings.map(\.verdict) == [.ok, .ok] && findings.map(\.examination) == [.rate, .noise])
        #expect(findings[0].text == "100 Hz, nominally 100 Hz")
        #expect(RestStatistics(samples(20)) == nil)
        let statistics = try #require(RestStatistics(samples(1000, noise: 0.1)))
        #expect(abs(statistics.acceleration.noise - 0.1) < 0.01)
        // Slow movement is no noise.
        let swaying = try #require(RestStatistics(samples(1000, noise: 0.1, sway: 0.4)))
        #expect(abs(swaying.acceleration.noise - 0.1) < 0.07 && swaying.acceleration.deviation > 0.35)
    }

    @Test func judgesABadSensor() throws {
        let verdict = { (findings: [Finding], examination: Examination) in
            findings.first { $0.examination == examination }?.verdict
        }
        #expect(try verdict(measured(samples(), nominal: 200), .rate) == .warning)
        #expect(try verdict(measured(samples(gapAt: 100)), .rate) == .warning)
        #expect(try verdict(measured(samples(noise: 0.4)), .noise) == .warning)
        #expect(try verdict(measured(samples(rotationNoise: 0.02)), .noise) == .warning)
        #expect(try verdict(measured(samples(sway: 2)), .noise) == .unknown)
        #expect(try verdict(measured(samples(noise: 0)), .noise) == .failed)
        #expect(try verdict(measured(samples(rotationNoise: 0)), .noise) == .failed)
        #expect(try verdict(measured(samples(gravity: 10.6)), .calibration) == .warning)
        #expect(try verdict(measured(samples(gravity: 3)), .noise) == .ok)
        #expect(try measured(samples(gravity: 3)).contains { $0.verdict == .failed && $0.text.contains("3 m/s²") })
        // Another chip with the same identity.
        #expect(
            try measured(samples(gravity: 4.9), part: "LSM6DSO").contains {
                $0.verdict == .failed && $0.text.contains("probably a chip LSM6DSO32")
                    && $0.steps == ["Set sensor.driver: lsm6dso32"]
            })
        // One axis always reads 0; the others measure.
        let dead = samples().map { sample in
            var sample = sample
            sample.acceleration.x = 0
            return sample
        }
        #expect(try measured(dead).contains { $0.verdict == .failed && $0.text.contains("x axis always reads 0") })
        // A chip without a gyroscope.
        let accelerometer = samples().map { sample in
            var sample = sample
            sample.flags = []
            sample.rotationRate = .zero
            return sample
        }
        #expect(try measured(accelerometer).map(\.verdict) == [.ok, .ok])
    }

    // MARK: The report

    @Test func reportIsOrderedAndItsStatusIsTheFirstFailure() throws {
        var report = DoctorReport(device: "dut", subject: "jostle.service")
        report.add([.failed(.login, "wrong password", ["Correct it"], status: .permission), .ok(.memory, "enough")])
        #expect(report.status == .permission && report.advice == nil)
        report.add([
            .failed(.bus, "none", ["sudo x", "sudo y"]), .warning(.clock, "late", "wait"), .unknown(.chip, "?"),
        ])
        #expect(report.status == .unavailable)
        #expect(report.summary == "2 failed, 1 warning, 1 not examined, 1 ok")
        #expect(report.advice?.contains("(I2C bus)") == true)
        #expect(
            report.text == """
                failed   I2C bus  none
                                  -> sudo x
                                  -> sudo y
                unknown  chip     ?
                warning  clock    late
                                  -> wait
                failed   login    wrong password
                                  -> Correct it
                ok       memory   enough

                """, "\(report.text)")
        #expect(
            report.json.description.contains(
                #"{"check":"i2c_bus","verdict":"failed","text":"none","next":["sudo x","sudo y"]}"#))
        #expect(report.json.description.contains(#""verdict":"failed","checks":["#))
    }

    @Test func examinationsHaveDistinctTitles() {
        let titles = Set(Examination.allCases.map(\.title))
        #expect(titles.count == Examination.allCases.count)
    }
}
