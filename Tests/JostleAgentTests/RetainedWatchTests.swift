import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: what the broker retains for a device is what the device published last. Two devices with the same id are
/// noticed, do not correct each other, and a device is not taken for another one.
@Suite struct RetainedWatchTests {
    private typealias Bench = ParticipantBench<RetainedWatch>

    private static let topics = Topics(prefix: "jostle", id: "a")

    /// A device that publishes, and a broker that retains and answers at once.
    private struct Board {
        var bench = Bench(RetainedWatch(topics: topics, run: "run-0", at: Timestamp(seconds: 100)))
        var retained: [String: String] = [:]
        /// The filters that the broker refuses.
        var refused: Set<String> = []
        /// How often the device has published each topic since the last `takeCorrections`.
        private var published: [String: Int] = [:]
        private var requests: [RetainedWatch.Request] = []
        private var answered: [String] = []

        init(retained: [String: String] = [:], refused: Set<String> = []) {
            self.retained = retained
            self.refused = refused
            connect()
        }

        /// Connects, subscribes, and publishes availability, state and report.
        mutating func connect() {
            answered = []
            bench.deliver(.connected)
            settle()
            publish(topics.availability, "online")
            publish(topics.state, "rest")
            publishReport()
            published = [:]
            pass(2)
        }

        mutating func disconnect() { bench.deliver(.disconnected(undelivered: [])) }

        mutating func reconnect(_ report: String) {
            disconnect()
            retained[topics.reported] = report
            connect()
        }

        mutating func publish(_ topic: String, _ text: String) {
            let now = bench.now
            bench.participant.sent(MQTTMessage(topic: topic, text: text, qos: .atLeastOnce, retain: true), at: now)
            published[topic, default: 0] += 1
            arrive(topic, text)
        }

        private mutating func publishReport() {
            publish(topics.reported, #"{"t":\#(bench.clocks.wall),"run":"run-0"}"#)
        }

        /// Somebody publishes a retained message.
        mutating func arrive(_ topic: String, _ text: String) {
            retained[topic] = text
            if answered.contains(topic) { bench.receive(topic, text) }
        }

        /// Somebody has published to topics of discovery, and to no others.
        mutating func alterDiscovery(_ topics: [String]) {
            bench.participant.discoveryDiffers(in: topics, at: bench.now)
        }

        /// Answers new subscriptions, and carries out what was asked for.
        private mutating func settle() {
            answered.removeAll { !bench.subscriptions.contains($0) }
            for filter in bench.subscriptions where !answered.contains(filter) {
                bench.deliver(.subscriptionAnswered(filter: filter, isGranted: !refused.contains(filter)))
                if refused.contains(filter) { continue }
                answered.append(filter)
                if let text = retained[filter] { bench.receive(filter, text, retain: true) }
            }
            for (message, _) in bench.takePublished() { publish(message.topic, message.payload.text) }
            for request in bench.takeRequests() {
                requests.append(request)
                if request == .repeatReport { publishReport() }
                if request == .correctDiscovery { alterDiscovery([]) }
            }
        }

        mutating func pass(_ seconds: Double) {
            for _ in 0..<Int(seconds * 4) {
                bench.pass(0.25)
                settle()
            }
        }

        mutating func takeCorrections() -> [String: Int] {
            defer { published = [:] }
            return published
        }

        /// Whether another device was found, or is gone, since the last call.
        mutating func takeDuplicates() -> [Bool] {
            defer { requests = [] }
            return requests.compactMap { if case .reportDuplicate(let isFound) = $0 { isFound } else { nil } }
        }

        mutating func takeRequests() -> [RetainedWatch.Request] {
            defer { requests = [] }
            return requests
        }
    }

    /// A report, as long after the clock of the bench started as `seconds`.
    private func report(_ run: String, at seconds: Double) -> String {
        #"{"t":\#(1_795_000_000_000 + Int64(seconds * 1000)),"run":"\#(run)"}"#
    }

    // MARK: Corrections

    @Test("A retained offline that is not ours is corrected within seconds, and the state too")
    func correctsWhatIsNotOurs() {
        var board = Board(retained: [Self.topics.availability: "offline", Self.topics.state: "before"])
        board.pass(60)
        #expect(board.takeCorrections() == [:], "at rest, nothing is published: our own messages came after the others")
        board.arrive(Self.topics.availability, "offline")
        board.arrive(Self.topics.state, "moving")
        board.pass(4)
        #expect(board.takeCorrections() == [Self.topics.availability: 1, Self.topics.state: 1])
        #expect(board.retained[Self.topics.availability] == "online" && board.retained[Self.topics.state] == "rest")
        #expect(board.takeRequests() == [])
        #expect(board.bench.takeLines().contains { $0.hasPrefix("the broker had another message for jostle/a/avail") })
        board.pass(600)
        #expect(board.takeCorrections() == [:])
        #expect(board.takeRequests() == [])
        #expect(board.bench.subscriptions == [Self.topics.availability, Self.topics.state, Self.topics.reported])
    }

    @Test("A topic that somebody has cleared is published again")
    func correctsWhatWasCleared() {
        var board = Board()
        board.arrive(Self.topics.availability, "")
        board.pass(4)
        #expect(board.takeCorrections() == [Self.topics.availability: 1])
    }

    @Test("Discovery messages that others change are corrected in the same way, also alone")
    func correctsDiscovery() {
        let topics = (1...5).map { "homeassistant/sensor/a/\($0)/config" }
        var board = Board()
        board.alterDiscovery(topics)
        board.pass(4)
        #expect(board.takeCorrections() == [:] && board.takeRequests() == [.correctDiscovery])
        #expect(
            board.bench.takeLines() == [
                "the broker had another message for \(topics[0]) and \(topics[1]) and \(topics[2]) and 2 more topics than "
                    + "this device published: publishing again"
            ])
        // Not more often than the others.
        board.alterDiscovery([topics[0]])
        board.pass(2)
        #expect(board.takeRequests() == [])
        board.pass(6)
        #expect(board.takeRequests() == [.correctDiscovery])
        // Somebody has put it right, or the connection has ended: then they are read.
        board.pass(60)
        board.alterDiscovery([topics[0]])
        board.alterDiscovery([])
        board.pass(60)
        board.alterDiscovery([topics[0]])
        board.disconnect()
        board.connect()
        board.pass(60)
        #expect(board.takeRequests() == [])
        // Nor while another device uses the id.
        board.arrive(Self.topics.reported, report("run-of-another", at: 200))
        board.alterDiscovery([topics[0]])
        board.pass(60)
        #expect(board.takeRequests() == [.reportDuplicate(true), .repeatReport])
    }

    @Test("Against somebody who never stops, it publishes at most once in 5 s, then ever less often, up to 5 minutes")
    func doesNotFight() {
        var board = Board()
        var times: [Double] = []
        let start = board.bench.now
        for _ in 0..<1800 {
            board.arrive(Self.topics.availability, "offline")
            board.pass(1)
            board.pass(1)
            if board.takeCorrections() != [:] { times.append(board.bench.now.seconds(since: start)) }
        }
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 >= 5 } && (gaps.first ?? 0) < 12, "\(times)")
        #expect(gaps.last.map { $0 >= 300 && $0 < 320 } ?? false, "\(times)")
        #expect(times.count < 22, "\(times)")
        // After a quiet time, the first one is corrected soon.
        board.pass(700)
        _ = board.takeCorrections()
        board.arrive(Self.topics.availability, "offline")
        board.pass(4)
        #expect(board.takeCorrections() == [Self.topics.availability: 1])
        board.arrive(Self.topics.availability, "offline")
        board.pass(8)
        #expect(board.takeCorrections() == [Self.topics.availability: 1])
    }

    @Test("Somebody who publishes faster than messages come back is corrected; what is put right at once is not")
    func correctsAQuickPublisher() {
        var board = Board()
        for _ in 0..<8 {
            board.arrive(Self.topics.availability, "offline")
            board.pass(0.5)
        }
        #expect(board.takeCorrections() == [Self.topics.availability: 1])
        board.pass(60)
        _ = board.takeCorrections()
        for _ in 0..<10 {
            board.arrive(Self.topics.state, "of another")
            board.pass(1.4)
            board.arrive(Self.topics.state, "rest")
            board.pass(0.6)
        }
        #expect(board.takeCorrections() == [:])
    }

    @Test("A report from the far future shows no other device, and hides none")
    func ignoresTheFarFuture() {
        var board = Board()
        board.pass(60)
        for run in ["run-0", "run-of-another"] {
            board.arrive(Self.topics.reported, #"{"t":9223372036854775807,"run":"\#(run)"}"#)
            board.arrive(Self.topics.state, "of another")
            board.pass(20)
            #expect(board.takeCorrections()[Self.topics.state] == 1)
        }
        #expect(board.takeDuplicates().isEmpty)
        board.arrive(Self.topics.reported, report("run-of-another", at: 200))
        board.arrive(Self.topics.state, "of another")
        board.pass(60)
        #expect(board.takeDuplicates() == [true])
    }

    @Test("A state that changes all the time, and comes back late, is not corrected")
    func ownMessagesAreNoDifference() {
        var board = Board()
        for number in 0..<100 {
            let message = MQTTMessage(topic: Self.topics.state, text: "\(number)", qos: .atLeastOnce, retain: true)
            let now = board.bench.now
            board.bench.participant.sent(message, at: now)
            if number > 2 { board.bench.receive(Self.topics.state, "\(number - 3)") }
            board.pass(0.25)
        }
        for number in 97..<100 { board.bench.receive(Self.topics.state, "\(number)") }
        board.pass(30)
        #expect(board.takeCorrections() == [:] && board.takeRequests() == [])
        // Meanwhile, the availability is corrected.
        board.arrive(Self.topics.availability, "offline")
        for number in 0..<20 {
            board.publish(Self.topics.state, "\(number)")
            board.pass(0.25)
        }
        #expect(board.takeCorrections()[Self.topics.availability] == 1)
    }

    @Test("An old report of this device comes back, alone or with an old availability, and is corrected")
    func correctsTheReport() {
        var board = Board()
        board.pass(60)
        board.arrive(Self.topics.reported, report("run-before", at: -100))
        board.arrive(Self.topics.availability, "offline")
        board.pass(4)
        #expect(board.takeRequests() == [.repeatReport])
        #expect(board.takeCorrections() == [Self.topics.availability: 1, Self.topics.reported: 1])
        // A bridged broker comes back with what this run reported before its settings changed.
        board.pass(60)
        board.arrive(Self.topics.reported, report("run-0", at: 1))
        board.pass(4)
        #expect(board.takeRequests() == [.repeatReport])
        #expect(board.takeCorrections() == [Self.topics.reported: 1])
        board.pass(600)
        #expect(board.takeRequests() == [])
    }

    @Test("A broker that does not let a device read its topics costs nothing else")
    func refusedSubscriptions() {
        let refused: Set = [Self.topics.availability, Self.topics.state, Self.topics.reported]
        var board = Board(refused: refused)
        board.arrive(Self.topics.availability, "offline")
        board.pass(600)
        #expect(board.takeCorrections() == [:] && board.bench.takeLines() == [])
        // Without the report, nobody knows of another device: the availability is corrected all the same.
        var half = Board(refused: [Self.topics.reported])
        half.arrive(Self.topics.availability, "offline")
        half.pass(4)
        #expect(half.takeCorrections() == [Self.topics.availability: 1])
    }

    @Test("While another device uses the id, nothing is corrected")
    func doesNotCorrectAnotherDevice() {
        var board = Board()
        board.pass(60)
        // It is connected to a broker that is bridged to this one.
        board.arrive(Self.topics.reported, report("run-of-another", at: 30))
        board.arrive(Self.topics.state, "of another")
        board.pass(4)
        #expect(board.takeDuplicates() == [true])
        #expect(board.bench.takeLines().contains { $0.contains("another device reports under the same id, a") })
        // The other one learns of this device.
        #expect(board.takeCorrections() == [Self.topics.reported: 1])
        for _ in 0..<10 {
            board.arrive(Self.topics.state, "of another")
            board.arrive(Self.topics.availability, "offline")
            board.pass(20)
        }
        #expect(board.takeCorrections() == [:])
        // It is gone, but its last messages stay until this device publishes its own.
        board.pass(1600)
        #expect(board.takeDuplicates() == [false])
        #expect(board.retained[Self.topics.availability] == "online" && board.retained[Self.topics.state] == "rest")
    }

    // MARK: Another device at the same broker

    @Test func noticesAnotherDevice() {
        // The report of this board's own last run is no sign of another one.
        var board = Board(retained: [Self.topics.reported: report("run-before", at: -100)])
        #expect(board.takeDuplicates().isEmpty)
        board.reconnect(report("run-0", at: 1))
        #expect(board.takeDuplicates().isEmpty)
        board.pass(20)
        board.reconnect(report("run-of-another", at: 15))
        #expect(board.takeDuplicates() == [true])
        #expect(board.bench.takeLines().contains { $0.contains("another device reports under the same id, a") })
        board.reconnect(report("run-of-another", at: 60))
        #expect(board.takeDuplicates().isEmpty, "once")
    }

    /// A broker that was killed restores an older report of this device; so may another broker of the list.
    @Test func ownOlderReportIsNoOtherDevice() {
        var board = Board()
        board.pass(20)
        board.reconnect(report("run-before", at: -100))
        board.pass(20)
        board.reconnect("{}")
        board.reconnect(#"{"run":"run-without-time"}"#)
        #expect(board.takeDuplicates().isEmpty)
    }

    /// A board without a hardware clock reports a time in the past until its clock is set. An earlier run, whose clock was
    /// set, is no other device.
    @Test func earlierRunWithABetterClockIsNoOtherDevice() {
        var board = Board()
        board.bench.clocks.isSet = false
        board.pass(20)
        board.reconnect(report("run-before", at: 100_000_000))
        #expect(board.takeDuplicates().isEmpty)
        board.bench.clocks.isSet = true
        board.bench.clocks.wall += 200_000_000_000
        board.reconnect(report("run-before", at: 199_000_000))
        #expect(board.takeDuplicates().isEmpty)
    }

    /// The other device got another id: a connection lasts for minutes again.
    @Test func noticesThatTheOtherDeviceIsGone() {
        var board = Board()
        board.pass(20)
        board.reconnect(report("run-of-another", at: 15))
        #expect(board.takeDuplicates() == [true])
        board.pass(800)
        #expect(board.takeDuplicates() == [false])
        // And it is noticed again.
        board.reconnect(report("run-of-another", at: 825))
        #expect(board.takeDuplicates() == [true])
    }
}
