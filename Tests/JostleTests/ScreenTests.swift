import JostleMessages
import JostleOperator
import LinuxSystem
import MosquittoClient
import MotionCore
import Testing

@testable import jostle

/// Requirement: `jostle watch` shows a device or a fleet in a window of any size.
@Suite struct ScreenTests {
    private static let start = Timestamp(nanoseconds: 1_000_000_000_000)

    private static let messages = [
        ("lamp/availability", "online"), ("lamp/attitude", #"{"roll":12.3,"pitch":-14.56,"yaw":78.9}"#),
        ("lamp/motion", #"{"acceleration":[0.3,-0.4,0],"rotation":[0,0,-12.5],"temperature":23.4}"#),
        ("lamp/state", #"{"moving":true,"side":"-y","tilt":3.1,"vibrating":true,"vibration":1.25}"#),
        (
            "lamp/health",
            #"{"rate":199.8,"period_ppm":-1234,"gaps":2,"bus_errors":{"timed_out":3},"outbox":1,"cpu_percent":2.14,"#
                + #""memory_mb":21.5,"uptime":11520,"sensor_state":"streaming","sensor":"MPU-6050","problems":[]}"#
        ),
        (
            "lamp/event/shake",
            #"{"id":"a-1","t":1795182603123,"gesture":"shake","phase":"began","strength":14.2,"axis":"x"}"#
        ),
        (
            "lamp/event/shake",
            #"{"id":"a-2","t":1795182604123,"gesture":"shake","phase":"cancelled","reason":"too_short","delayed":true}"#
        ),
        (
            "lamp/event/flick",
            #"{"id":"a-3","t":5,"gesture":"flick","phase":"recognized","direction":"left","simulated":true}"#
        ),
    ]

    private static func model(_ messages: [(String, String)], onlyDevice: String? = "lamp") -> FleetModel {
        var model = FleetModel(prefix: "jostle", onlyDevice: onlyDevice)
        for (topic, text) in messages {
            _ = model.update(with: MQTTMessage(topic: "jostle/" + topic, text: text), at: start)
        }
        return model
    }

    /// The time of day in UTC.
    private static func timeOfDay(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000 % 86_400
        return [seconds / 3600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            .joined(separator: ":")
    }

    private static var connected: ConnectionStatus {
        var connection = ConnectionStatus()
        _ = connection.update(with: .connected(broker: "mqtt://localhost:1883", version: "5"))
        return connection
    }

    private static func screen(
        _ columns: Int, _ rows: Int, isUnicode: Bool = true, after seconds: Double = 0,
        connection: ConnectionStatus = connected,
        _ messages: [(String, String)] = messages
    ) -> [ScreenLine] {
        let screen = DeviceScreen(glyphs: Glyphs(isUnicode: isUnicode), timeOfDay: timeOfDay)
        let model = model(messages)
        return screen.lines(
            model.boards["lamp"] ?? FleetBoard(id: "lamp"), connection, at: start.advanced(bySeconds: seconds),
            size: ScreenSize(columns: columns, rows: rows))
    }

    /// The text without trailing blanks.
    private static func text(_ lines: [ScreenLine]) -> String {
        lines.map { line in
            var text = line.text
            while text.last == " " { text.removeLast() }
            return text
        }.joined(separator: "\n")
    }

    // MARK: A device

    /// Requirement: whatever else a device has to say, its last gesture is in view.
    @Test func showsLastGestureInEveryWindow() {
        let layers =
            #"{"layers":{"all":{"status":"applied","revision":12}},"settings":{"device":{"name":"Desk lamp"}}}"#
        let misses = ["shake", "turn", "tap", "flip"].map { gesture in
            let text = #""reason":"too_weak","text":"no \#(gesture)"}"#
            return ("lamp/near-miss", #"{"t":1795182605123,"gesture":"\#(gesture)","# + text)
        }
        let problem = ("lamp/health", Self.messages[4].1.replacing(#""problems":[]"#, with: #""problems":["clock"]"#))
        let messages = Self.messages + [problem, ("lamp/config/reported", layers)] + misses
        for columns in [40, 60, 80, 120] {
            for rows in 6...40 {
                let screen = Self.screen(columns, rows, messages)
                #expect(screen.contains { $0.text.contains("flick") }, "\(columns)×\(rows)\n\(Self.text(screen))")
            }
        }
        #expect(Self.screen(80, 24, messages)[0].text.hasPrefix(" lamp, Desk lamp  ● online"))
    }

    @Test func fleetScreenShowsLastGestureIn80Columns() {
        let id = "a-washer-with-a-long-name"
        let layers = #"{"layers":{"all":{"status":"applied","revision":12}}}"#
        let event = #"{"id":"a-1","t":1795182603123,"gesture":"vibration","phase":"ended","duration":2400}"#
        let model = Self.model(
            [("\(id)/availability", "online"), ("\(id)/config/reported", layers), ("\(id)/event/vibration", event)],
            onlyDevice: nil)
        let lines = FleetScreen(glyphs: Glyphs(isUnicode: true), timeOfDay: Self.timeOfDay)
            .lines(model, Self.connected, at: Self.start, size: ScreenSize(columns: 80, rows: 24))
        #expect(lines.last?.text.contains("13:50:03 vibration ended, ") == true, "\(Self.text(lines))")
    }

    /// Requirement: a board's name for people is in the list, also where the window leaves room for little else.
    @Test func fleetScreenShowsNames() {
        func named(_ id: String, _ name: String) -> [(String, String)] {
            [
                ("\(id)/availability", "online"),
                ("\(id)/config/reported", #"{"settings":{"device":{"name":"\#(name)"}}}"#),
            ]
        }
        let model = Self.model(named("a-1", "Washing machine") + named("b-2", "b-2"), onlyDevice: nil)
        let screen = FleetScreen(glyphs: Glyphs(isUnicode: true), timeOfDay: Self.timeOfDay)
        func text(_ columns: Int) -> String {
            let size = ScreenSize(columns: columns, rows: 24)
            return Self.text(Array(screen.lines(model, Self.connected, at: Self.start, size: size).dropFirst()))
        }
        #expect(
            text(80) == """
                device    name                   state             last gesture
                a-1       Washing ma…  online    -
                b-2                    online    -
                """, "\(text(80))")
        #expect(text(120).contains("a-1       Washing machine  online             -  -"), "\(text(120))")
        #expect(!text(70).contains("Wash"))
    }

    @Test func showsDeviceIn80By24() {
        #expect(
            Self.text(Self.screen(80, 24)) == """
                 lamp  ● online                      connected to mqtt://localhost:1883, MQTT 5
                │                                           │  roll          12.3°
                │                                           │  pitch        -14.6°
                │                                           │  heading       78.9°
                │                                           │  side up         -y
                │                                       ▁▂▃▃│  tilt           3.1°
                │                ──── ┼ ────   ▁▂▃▄▄▅▆▇█████│  moving         yes
                │                     ▁▂▃▄▅▅▆▇██████████████│  vibrating      yes, 1.25 m/s²
                │            ▁▂▃▄▅▆▆▇███████████████████████│  accel.        0.50 m/s²
                │  ▁▁▂▃▄▅▆▇▇████████████████████████████████│  rotation      12.5 °/s
                │▇██████████████████████████████████████████│  chip          23.4 °C
                │███████████████████████████████████████████│
                                      ▼
                ·······120·······90········60········30······

                sensor streaming   199.8 Hz   period -1234 ppm   gaps 2   bus errors 3
                outbox 1   CPU 2.1 %   memory 21.5 MiB   up 3 h 12 min   MPU-6050

                00:00:00  flick     recognized left, simulated
                13:50:04  shake     cancelled  it stopped before the fourth swing, delayed
                """)
    }

    /// Requirement: a gesture is one line, whatever the number of its phases, so that a turn pushes no shake off the screen.
    @Test func showsOneLineForEachGesture() {
        func event(_ gesture: String, _ phase: String, _ number: Int) -> (String, String) {
            let time = 1_795_182_600_123 + 1000 * number
            return (
                "lamp/event/\(gesture)",
                #"{"id":"b-\#(number)","t":\#(time),"gesture":"\#(gesture)","phase":"\#(phase)"}"#
            )
        }
        let turn = ["began"] + Array(repeating: "changed", count: 12) + ["ended"]
        let phases =
            [("shake", "ended")] + (turn + turn + ["began", "changed"]).map { ("turn", $0) } + [("tap", "recognized")]
        let events = phases.enumerated().map { event($1.0, $1.1, $0) }
        let lines = Self.text(Self.screen(80, 24, [("lamp/availability", "online")] + events))
        #expect(
            lines.hasSuffix(
                """
                13:50:31  tap       recognized
                13:50:30  turn      changed
                13:50:28  turn      ended
                13:50:14  turn      ended
                13:50:00  shake     ended
                """), "\(lines)")
    }

    @Test func showsDeviceWithoutUnicode() {
        #expect(
            Self.text(Self.screen(64, 20, isUnicode: false)) == """
                 lamp  * online      connected to mqtt://localhost:1883, MQTT 5
                |                           |  roll          12.3 deg
                |                           |  pitch        -14.6 deg
                |                           |  heading       78.9 deg
                |        ---- + ----..::####|  side up         -y
                |         ...::#############|  tilt           3.1 deg
                |...::######################|  moving         yes
                |###########################|  vibrating      yes, 1.25 m/s^2
                                               accel.        0.50 m/s^2
                              v
                .........90........60........

                sensor streaming   199.8 Hz   period -1234 ppm   gaps 2
                bus errors 3   outbox 1   CPU 2.1 %   memory 21.5 MiB
                up 3 h 12 min   MPU-6050

                00:00:00  flick     recognized left, simulated
                13:50:04  shake     cancelled  it stopped before the fourth swi~
                """)
    }

    /// One dim line in the list of gestures, where it arrived.
    @Test func showsLastNearMiss() {
        let miss = (
            "lamp/near-miss", #"{"t":1795182605123,"gesture":"shake","reason":"too_weak","text":"no shake: too weak"}"#
        )
        let screen = Self.screen(80, 24, Self.messages + [miss, miss])
        #expect(screen.filter { $0.text.contains("no shake") } == [ScreenLine("13:50:05  no shake: too weak", .dim)])
        let index = screen.firstIndex { $0.text.contains("no shake") } ?? 0
        #expect(index > 0 && screen.count > index + 1 && screen[index + 1].text.contains("flick"))
        let alone = Self.text(Array(Self.screen(80, 24, [miss]).suffix(2)))
        #expect(alone == "13:50:05  no shake: too weak\nno gesture yet")

        var model = Self.model([miss])
        let later = MQTTMessage(
            topic: "jostle/lamp/event/tap",
            text: #"{"id":"a-9","t":1795182606123,"gesture":"tap","phase":"recognized"}"#)
        _ = model.update(with: later, at: Self.start.advanced(bySeconds: 1))
        let device = model.boards["lamp"] ?? FleetBoard(id: "lamp")
        let lines = DeviceScreen(glyphs: Glyphs(isUnicode: true), timeOfDay: Self.timeOfDay).lines(
            device, Self.connected, at: Self.start, size: ScreenSize(columns: 80, rows: 24))
        #expect(
            Self.text(Array(lines.suffix(2)))
                == "13:50:06  tap       recognized\n13:50:05  no shake: too weak")
    }

    /// The last near miss of each gesture, the newest first; without any, that they are off.
    @Test func showsNearMissesOfEachGesture() {
        func miss(_ gesture: String, _ text: String, second: Int) -> (String, String) {
            ("lamp/near-miss", #"{"t":179518260\#(second)123,"gesture":"\#(gesture)","text":"\#(text)"}"#)
        }
        let screen = Self.screen(
            80, 24,
            [
                miss("shake", "no shake", second: 1), miss("tap", "no tap", second: 2),
                miss("shake", "still none", second: 3),
            ])
        #expect(
            Self.text(Array(screen.suffix(3))) == "13:50:03  still none\n13:50:02  no tap\nno gesture yet")

        let hint = "publish.near_misses is off: it would say why a movement was no gesture"
        func settings(_ value: Bool) -> (String, String) {
            ("lamp/config/reported", #"{"settings":{"publish":{"near_misses":\#(value)}}}"#)
        }
        let online = ("lamp/availability", "online")
        #expect(Self.screen(80, 24, [online, settings(false)]).last == ScreenLine(hint, .dim))
        #expect(!Self.text(Self.screen(80, 24, [online, settings(true)])).contains(hint))
        let misses = [online, settings(false), miss("tap", "no tap", second: 2)]
        #expect(!Self.text(Self.screen(80, 24, misses)).contains(hint))
    }

    @Test func showsDeviceInSmallWindow() {
        #expect(
            Self.text(Self.screen(44, 8)) == """
                 lamp  ● online
                roll 12.3°  pitch -14.6°  heading 78.9°
                -y up, moving, vibrating
                00:00:00  flick     recognized left, simula…
                13:50:04  shake     cancelled  it stopped b…
                """)
    }

    /// Requirement: whether a machine runs, for how long, and that it is not as it was, in every window.
    @Test func showsTheMachine() {
        func machine(_ fields: String) -> (String, String) { ("lamp/machine", "{\(fields)}") }
        let running = machine(#""phase":"running","duration":754,"changed":true"#)
        let large = Self.text(Self.screen(80, 24, Self.messages + [running]))
        #expect(large.contains("│  machine    running 12 min\n"), "\(large)")
        #expect(large.contains("│            not as it was\n"), "\(large)")
        #expect(
            Self.text(Self.screen(80, 8, Self.messages + [running])).contains(
                "\n-y up, moving, machine running 12 min, not as it was\n"))
        let paused = machine(#""phase":"paused","duration":900,"quiet_for":40"#)
        #expect(Self.text(Self.screen(80, 8, Self.messages + [paused])).contains("moving, machine paused 40 s\n"))
        let off = machine(#""phase":"off","changed":false"#)
        #expect(Self.text(Self.screen(80, 8, Self.messages + [off])).contains("-y up, moving, vibrating\n"))
    }

    @Test func showsUnknownDevice() {
        #expect(
            Self.text(Self.screen(60, 18, connection: ConnectionStatus(), [])) == """
                 lamp  ○ no message yet                   not connected yet
                │                           │  attitude  unknown
                │                           │
                │                           │
                │                           │
                │                           │
                │                           │
                │                           │

                health unknown

                no gesture yet
                """)
    }

    @Test(arguments: [0, 1, 2, 5, 13, 30, 59, 60, 61, 80, 200], [0, 1, 2, 3, 5, 9, 10, 17, 18, 19, 24, 60])
    func neverExceedsWindow(columns: Int, rows: Int) {
        for isUnicode in [true, false] {
            let lines = Self.screen(columns, rows, isUnicode: isUnicode)
            #expect(lines.count <= rows && lines.allSatisfy { $0.text.count <= columns })
            #expect(rows == 0 || !lines.isEmpty)
            if !isUnicode { #expect(lines.allSatisfy { $0.text.utf8.count == $0.text.count }) }
        }
    }

    @Test func showsProblemsBelowTitle() {
        var connection = Self.connected
        _ = connection.update(with: .failed("mqtt://localhost:1883: no answer in time", retryAfter: 2.5))
        let lost = Self.screen(80, 24, connection: connection)
        #expect(lost[1] == ScreenLine(" trying again in 2.5 s: mqtt://localhost:1883: no answer in time", .warning))
        let problems = Self.messages + [("lamp/health", #"{"problems":["sensor"],"sensor_fault":"no\u001b answer"}"#)]
        #expect(Self.screen(80, 24, problems)[1].text == #" problems: sensor: no\u{1b} answer"#)
        let wrong = Self.screen(80, 24, Self.messages + [("lamp/state", "{")])
        #expect(wrong[1].text.hasPrefix(" 1 malformed messages, the last: state:1:2"), "\(wrong[1])")
        let offline = Self.screen(80, 24, Self.messages + [("lamp/availability", "offline")])
        #expect(offline[0].text.hasPrefix(" lamp  ○ offline for 0 s  "), "\(offline[0])")
        #expect(offline.dropFirst().allSatisfy { $0.style == .dim }, "\(offline)")
    }

    /// A flood of invented devices is said, and those that this machine knows stay on the screen.
    @Test func fleetScreenSaysThatDevicesDoNotFit() {
        var model = FleetModel(prefix: "jostle")
        model.remember(KnownDevices(known: ["a-lamp"]))
        for id in (0...FleetModel.maximumWatched).map({ "invented-\($0)" }) + ["a-lamp"] {
            let message = MQTTMessage(topic: "jostle/\(id)/availability", text: "online", retain: true)
            _ = model.update(with: message, at: Self.start)
        }
        let screen = FleetScreen(glyphs: Glyphs(isUnicode: true))
            .lines(model, ConnectionStatus(), at: Self.start, size: ScreenSize(columns: 80, rows: 6))
        #expect(screen[1] == ScreenLine(" 2 devices do not fit beside 5000 others", .warning))
        #expect(screen.contains { $0.text.contains("a-lamp") })
    }

    @Test func saysSinceWhenDeviceIsOffline() {
        let device = { (messages: [(String, String)]) in Self.model(messages).boards["lamp"] }
        let later = Self.start.advanced(bySeconds: 200)
        let gone = [("lamp/availability", "offline")]
        #expect(device(gone).flatMap { WatchText.offline($0, at: later, milliseconds: 0) } == "offline for 3 min")
        var retained = FleetModel(prefix: "jostle", onlyDevice: "lamp")
        for (topic, text) in gone + [("lamp/health", #"{"t":1795182603123}"#)] {
            let message = MQTTMessage(topic: "jostle/" + topic, text: text, qos: .atLeastOnce, retain: true)
            _ = retained.update(with: message, at: Self.start)
        }
        let old = retained.boards["lamp"]
        #expect(
            old.flatMap { WatchText.offline($0, at: later, milliseconds: 1_795_182_603_123 + 7_200_000) }
                == "offline, last report 2 h 0 min ago")
        #expect(old.flatMap { WatchText.offline($0, at: later, milliseconds: 0) } == "offline")
        let online = device([("lamp/availability", "online")])
        #expect(online.flatMap { WatchText.offline($0, at: later, milliseconds: 0) } == nil)
    }

    @Test func marksOldAttitude() {
        #expect(!Self.text(Self.screen(80, 24, after: 59)).contains(" old"))
        #expect(Self.text(Self.screen(80, 24, after: 130)).contains("attitude  2 min old"))
    }

    // MARK: A fleet

    private static let fleet = [
        ("washer-1/availability", "online"), ("washer-1/health", #"{"rate":199.8,"problems":[]}"#),
        ("washer-1/state", #"{"moving":false,"side":"+z"}"#),
        ("washer-1/event/vibration", #"{"t":1795182603123,"gesture":"vibration","phase":"ended","duration":2400}"#),
        ("washer-2/availability", "offline"), ("washer-2/health", #"{"rate":50,"problems":[]}"#),
        ("dryer/availability", "online"), ("dryer/health", #"{"rate":0,"problems":["sensor","clock"]}"#),
        ("attic/availability", "online"),
    ]

    private static func list(_ columns: Int, _ rows: Int) -> String {
        let screen = FleetScreen(glyphs: Glyphs(isUnicode: true), timeOfDay: timeOfDay)
        return text(
            screen.lines(
                model(fleet, onlyDevice: nil), connected, at: start,
                size: ScreenSize(columns: columns, rows: rows)))
    }

    @Test func listsDevicesWithProblemsFirst() {
        #expect(
            Self.list(90, 10) == """
                 4 devices, 3 online, 1 with problems          connected to mqtt://localhost:1883, MQTT 5
                device                    rate  state             last gesture
                dryer     online        0.0 Hz  -                 problems: sensor, clock
                washer-2  offline      50.0 Hz  -                 offline for 0 s
                attic     online             -  -
                washer-1  online      199.8 Hz  +z up, still      13:50:03 vibration ended, after 2400 s
                """)
    }

    private static let rejected = #"""
        {"layers":{"all":{"status":"applied","revision":12},"device":{"status":"none"},
        "group:laundry":{"status":"rejected","revision":3,"in_force":2,
        "errors":[{"path":"gestures.shake.sensitivity","value":70,"reason":"out of bounds"}]}}}
        """#

    @Test func showsLayersOfFleet() {
        let applied = #"{"layers":{"all":{"status":"applied","revision":12},"device":{"status":"none"}}}"#
        let messages = Self.fleet + [("washer-1/config/reported", Self.rejected), ("attic/config/reported", applied)]
        let lines = FleetScreen(glyphs: Glyphs(isUnicode: true), timeOfDay: Self.timeOfDay).lines(
            Self.model(messages, onlyDevice: nil), Self.connected, at: Self.start,
            size: ScreenSize(columns: 100, rows: 10))
        #expect(
            Self.text(lines) == """
                 4 devices, 3 online, 1 with problems                    connected to mqtt://localhost:1883, MQTT 5
                device              config             rate  state             last gesture
                dryer     online    -                0.0 Hz  -                 problems: sensor, clock
                washer-1  online    rejected       199.8 Hz  +z up, still      group:laundry 3 rejected (2 in force…
                washer-2  offline   -               50.0 Hz  -                 offline for 0 s
                attic     online    applied               -  -
                """)
        #expect(lines[3].style == .warning && lines[4].style == .dim && lines[5].style == .plain)
    }

    @Test func showsLayersOfDevice() {
        let screen = Self.screen(80, 24, Self.messages + [("lamp/config/reported", Self.rejected)])
        let line = screen.first { $0.text.hasPrefix("configuration") }
        #expect(
            line
                == ScreenLine(
                    "configuration: group:laundry 3 rejected (2 in force): gestures.shake.sensitivit…", .warning))
        var lines = WatchLines(glyphs: Glyphs(isUnicode: true))
        let device = FleetBoard(id: "lamp")
        #expect(
            lines.line(.configuration, of: device, at: Self.start, time: "now") == "now  lamp  configuration  no layers"
        )
        let known = Self.model([("lamp/config/reported", Self.rejected)]).boards["lamp"]
        #expect(
            known.flatMap { lines.line(.configuration, of: $0, at: Self.start, time: "now") }
                == "now  lamp  configuration  all 12 applied, device none, "
                + "group:laundry 3 rejected (2 in force): gestures.shake.sensitivity out of bounds")
    }

    @Test func countsDevicesThatDoNotFit() {
        #expect(
            Self.list(50, 4) == """
                 4 devices, 3 online, 1 with problems
                device              last gesture
                dryer     online    problems: sensor, clock
                and 3 more
                """)
    }
}

/// Requirement: drawing on the terminal is exact, and no text from outside can control it.
@Suite struct TerminalDrawingTests {
    private static let unicode = Glyphs(isUnicode: true)
    private static let ascii = Glyphs(isUnicode: false)

    @Test func keepsOneColumnCharactersOnly() {
        #expect(Self.unicode.clean("ä 12° m/s² \u{1B}[2J\u{9B}\u{301}日\u{202E}👍🏽") == "ä 12° m/s² ?[2J??????")
        #expect(Self.ascii.clean("ä 12° m/s² ●") == "? 12 deg m/s^2 *")
        #expect(Self.unicode.cut("shaken", 4) == "sha…" && Self.ascii.cut("shaken", 4) == "sha~")
        #expect(Self.unicode.cut("shaken", 0).isEmpty && Self.unicode.fit("a", 3) == "a  ")
    }

    private func horizon(_ roll: Double, _ pitch: Double, _ glyphs: Glyphs = ascii) -> [String] {
        ArtificialHorizon.lines(roll: roll, pitch: pitch, size: ScreenSize(columns: 11, rows: 5), glyphs: glyphs)
    }

    @Test func groundIsBelow() {
        #expect(horizon(0, 0) == ["           ", "           ", ":::::::::::", "###########", "###########"])
        #expect(horizon(0, 0, Self.unicode)[2] == "▄▄▄▄▄▄▄▄▄▄▄")
    }

    @Test func loweredNoseShowsMoreGround() {
        #expect(horizon(0, 24)[1] == ":::::::::::" && horizon(0, -24)[3] == ":::::::::::")
        // At any pitch, a strip of both sky and ground remains.
        #expect(horizon(0, 90)[0] != "###########" && horizon(0, -90)[4] != "           ")
    }

    @Test func rollToTheRightRaisesGroundAtTheRight() {
        let right = horizon(45, 0)
        #expect(right[0].last == "#" && right[0].first == " " && right[4].first == " " && right[4].last == "#")
        #expect(horizon(-45, 0) == right.map { String($0.reversed()) })
        #expect(horizon(90, 0).allSatisfy { $0.hasPrefix("     ") && $0.hasSuffix("#####") })
    }

    @Test func groundIsAboveWhenUpsideDown() {
        let full = "███████████"
        let empty = "           "
        #expect(horizon(180, 0, Self.unicode) == [full, full, "▀▀▀▀▀▀▀▀▀▀▀", empty, empty])
    }

    @Test func headingIsInTheMiddle() {
        let lines = HeadingTape.lines(heading: 60, columns: 41, glyphs: Self.ascii)
        #expect(lines == ["                    v", ".........90........60........30.........0"])
        #expect(HeadingTape.lines(heading: -179, columns: 21, glyphs: Self.ascii)[1].contains("180"))
    }

    @Test func drawsChangedLinesOnly() {
        let old = [ScreenLine("a"), ScreenLine("b", .bold), ScreenLine("c")]
        #expect(
            ScreenDifference(from: nil, to: Array(old[..<2])).text
                == "\u{1B}[2J\u{1B}[1;1H\u{1B}[Ka\u{1B}[2;1H\u{1B}[K\u{1B}[1mb\u{1B}[0m")
        #expect(ScreenDifference(from: old, to: old).text.isEmpty)
        let new = [ScreenLine("a"), ScreenLine("b")]
        #expect(ScreenDifference(from: old, to: new).text == "\u{1B}[2;1H\u{1B}[Kb\u{1B}[3;1H\u{1B}[K")
    }

    @Test func writesAnyMessageAsOneLineOfJSON() {
        let object = MQTTMessage(topic: "jostle/a", text: "{\"a\":\n\t\"\u{9B}é\"}", retain: true)
        #expect(
            ForeignText.json(WatchLines.json(object))
                == #"{"topic":"jostle/a","retained":true,"payload":{"a":  "\u009bé"}}"#)
        let bytes = MQTTMessage(topic: "jostle/\"b", payload: [0x1B, 0x5B, 0xFF])
        #expect(
            ForeignText.json(WatchLines.json(bytes))
                == #"{"topic":"jostle/\"b","retained":false,"payload":"\u001b[\#u{FFFD}"}"#)
    }

    @Test func printsAttitudeOncePerSecondAndStateOnChange() {
        var lines = WatchLines(glyphs: Self.ascii)
        var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
        func line(_ topic: String, _ text: String, at seconds: Double) -> String? {
            let now = Timestamp(nanoseconds: Int64(seconds * 1e9))
            let message = MQTTMessage(topic: "jostle/dut/" + topic, text: text)
            guard let change = model.update(with: message, at: now)?.change, let device = model.boards["dut"] else {
                return nil
            }
            return lines.line(change, of: device, at: now, time: "12:00:00")
        }
        let attitude = #"{"roll":-0.04,"pitch":2,"yaw":3}"#
        let expected = "12:00:00  dut  attitude  roll 0.0 deg  pitch 2.0 deg  heading 3.0 deg"
        #expect(line("attitude", attitude, at: 1) == expected)
        #expect(line("attitude", attitude, at: 1.9) == nil && line("attitude", attitude, at: 2) != nil)
        #expect(line("state", #"{"side":"+z","tilt":1}"#, at: 3) == "12:00:00  dut  state  +z up, still")
        #expect(line("state", #"{"side":"+z","tilt":2}"#, at: 3) == nil)
        #expect(line("near-miss", #"{"text":"no tap"}"#, at: 3) == "12:00:00  dut  near miss  no tap")
        #expect(line("availability", "offline", at: 3) == "12:00:00  dut  offline")
    }
}
