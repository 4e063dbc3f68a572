internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// Removes the retained messages that the device published under its former names.
///
/// A broker keeps retained messages until they are cleared: after a renaming, the device would appear twice for ever,
/// once of them offline. But another device may use the name by now, for example one with a copied memory card, so
/// nothing is cleared while a device is online under it. What the broker does not permit is not tried again until the
/// next start.
struct FormerNameCleaner: Participant {
    typealias Request = Never

    static let owner = Owner.formerNames

    /// Seconds to wait for the retained availability after the broker accepted the subscription.
    private static let readingTime = 0.3
    /// Seconds to wait for the broker's answer to the subscription.
    private static let subscriptionTimeout = 2.0
    /// Seconds for which the topics are left to Home Assistant: meanwhile the discovery messages of the name are removed. An
    /// entity that is still there would be told that it has no state.
    private static let removalTime = 5.0
    /// Seconds until a message is published again for which the client had no room.
    private static let retry = 0.2

    private enum Phase: Equatable {
        case offline
        /// Waiting to learn whether a device is online under the name.
        case checking(until: Timestamp)
        /// A device is online under the name.
        case inUse
        /// The discovery messages of the name are being removed.
        case leaving(until: Timestamp)
        case clearing(Clearing)
        case refused
    }

    /// The clearing of a name's topics.
    private struct Clearing: Equatable {
        /// The topics still to be cleared on this connection, and when to publish those again that the client did not
        /// accept.
        var remaining: [String]
        var due: Timestamp?
        var underWay: [DeliveryToken: String] = [:]
    }

    private struct Name {
        let topics: Topics
        var phase = Phase.offline
    }

    private var names: [Name] {
        didSet { protectedDevices = FormerNameCleaner.protectedDevices(among: names, current: current) }
    }
    /// The former names that another device has, or may have as far as is known yet.
    private(set) var protectedDevices: Set<String>
    /// Numbers are never reused, so a token from an earlier connection matches nothing.
    private var lastToken: Int64 = 0
    /// Whether the device publishes plain values, and so may have under its former names.
    private var hasPlain = false
    private let current: String
    private var memory: RememberedTopics

    /// Takes the former names from the memory file and from the announced topics, without the present name.
    init(_ settings: JostleSettings, topics: Topics, memory: RememberedTopics, announced: Set<String>) {
        let known = Set(memory.topics.map { Topics(root: $0).device })
        let others = Set(announced.compactMap { DiscoveryMessage.device(ofTopic: $0)?.id }).subtracting(known)
        let former = memory.topics.union(others.map { Topics(prefix: settings.mqtt.prefix, id: $0).root })
        self.init(former.subtracting([topics.root]), current: topics.root, memory: memory)
        hasPlain = settings.publish.plain
    }

    init(_ roots: Set<String>, current: String, memory: RememberedTopics) {
        let names = roots.sorted().map { Name(topics: Topics(root: $0)) }
        self.names = names
        self.current = current
        self.memory = memory
        protectedDevices = FormerNameCleaner.protectedDevices(among: names, current: current)
    }

    private static func protectedDevices(among names: [Name], current: String) -> Set<String> {
        let others = names.compactMap { name in
            switch name.phase {
            case .offline, .checking, .inUse: name.topics.device
            case .leaving, .clearing, .refused: nil
            }
        }
        return Set(others).subtracting([Topics(root: current).device])
    }

    /// The former names under which another device is online.
    var usedDevices: Set<String> { Set(names.filter { $0.phase == .inUse }.map(\.topics.device)) }

    /// The former names that may still have retained messages.
    var roots: Set<String> { Set(names.map(\.topics.root)) }

    // MARK: Events

    mutating func start(at now: ClockReading) -> Effects { remember() }

    mutating func handle(_ event: ParticipantEvent, at now: ClockReading) -> Effects {
        switch event {
        case .connected: return connected(at: now.monotonic)
        case .disconnected:
            disconnected()
            return []
        case .subscriptionAnswered(let filter, _):
            for index in names.indices where names[index].topics.availability == filter {
                guard case .checking = names[index].phase else { continue }
                names[index].phase = .checking(until: now.monotonic.advanced(bySeconds: FormerNameCleaner.readingTime))
            }
            return []
        case .message(let message): return receive(message, at: now.monotonic)
        case .acknowledged(let token): return acknowledged(token)
        case .rejected(let token, _, let failure): return rejected(token, failure)
        case .notSent(let tokens):
            notSent(tokens, at: now.monotonic)
            return []
        case .fileWritten(memory.file, let failure?):
            return [.log(.warning, "cannot save the device's name: \(failure)")]
        case .fileWritten: return []
        }
    }

    private mutating func connected(at now: Timestamp) -> Effects {
        disconnected()
        var effects: Effects = []
        for index in names.indices where names[index].phase == .offline {
            names[index].phase = .checking(until: now.advanced(bySeconds: FormerNameCleaner.subscriptionTimeout))
            effects.append(.subscribe(names[index].topics.availability))
        }
        return effects
    }

    /// The connection is lost, and with it every message in flight.
    private mutating func disconnected() {
        for index in names.indices where names[index].phase != .refused { names[index].phase = .offline }
    }

    /// An availability message says whether a device is online under a former name.
    private mutating func receive(_ message: MQTTMessage, at now: Timestamp) -> Effects {
        guard let index = names.firstIndex(where: { $0.topics.availability == message.topic }) else { return [] }
        let wasInUse = names[index].phase == .inUse
        switch names[index].phase {
        case .checking, .inUse, .leaving: break
        case .offline, .clearing, .refused: return []
        }
        guard message.payload == Array("online".utf8) else {
            if case .leaving = names[index].phase { return [] }
            names[index].phase = .checking(until: now)
            return []
        }
        names[index].phase = .inUse
        guard !wasInUse else { return [] }
        let root = names[index].topics.root
        return [
            .log(.info, "another device is online under the former name \(root): its retained messages are kept")
        ]
    }

    /// The broker acknowledged a message. After the last one, nothing is left under the name.
    private mutating func acknowledged(_ token: DeliveryToken) -> Effects {
        for index in names.indices {
            guard case .clearing(var clearing) = names[index].phase, clearing.underWay.removeValue(forKey: token) != nil
            else { continue }
            names[index].phase = .clearing(clearing)
            guard clearing.remaining.isEmpty, clearing.underWay.isEmpty else { return [] }
            let root = names.remove(at: index).topics.root
            return [.log(.info, "removed the retained messages of the former name \(root)")] + remember()
        }
        return []
    }

    /// The broker rejected a message. The first rejection ends the clearing of its name.
    private mutating func rejected(_ token: DeliveryToken, _ failure: MQTTFailure) -> Effects {
        for index in names.indices {
            guard case .clearing(let clearing) = names[index].phase, clearing.underWay[token] != nil else { continue }
            names[index].phase = .refused
            let root = names[index].topics.root
            return [
                .log(
                    .warning,
                    "cannot remove the retained messages of the former name \(root): the broker does not permit it "
                        + "(\(failure.messageDescription)); use an account that may: mosquitto_pub -r -n -t \(root)/availability, "
                        + "and the same for state, health and config/reported")
            ]
        }
        return []
    }

    private mutating func notSent(_ tokens: [DeliveryToken], at now: Timestamp) {
        for index in names.indices {
            guard case .clearing(var clearing) = names[index].phase else { continue }
            let back = tokens.compactMap { clearing.underWay.removeValue(forKey: $0) }
            guard !back.isEmpty else { continue }
            clearing.remaining += back
            clearing.due = now.advanced(bySeconds: FormerNameCleaner.retry)
            names[index].phase = .clearing(clearing)
        }
    }

    // MARK: Deadlines

    var nextDeadline: Timestamp? {
        names.compactMap { name in
            switch name.phase {
            case .checking(let end), .leaving(let end): end
            case .clearing(let clearing): clearing.due
            case .offline, .inUse, .refused: nil
            }
        }.min()
    }

    mutating func handleDeadline(at now: ClockReading) -> Effects {
        var effects: Effects = []
        for index in names.indices {
            var clearing: Clearing
            switch names[index].phase {
            case .checking(let end) where now.monotonic >= end:
                names[index].phase = .leaving(until: now.monotonic.advanced(bySeconds: FormerNameCleaner.removalTime))
                continue
            case .leaving(let end) where now.monotonic >= end:
                effects.append(.unsubscribe(names[index].topics.availability))
                clearing = Clearing(
                    remaining: names[index].topics.retained + (hasPlain ? names[index].topics.retainedPlain : []))
            case .clearing(let present):
                guard let due = present.due, now.monotonic >= due else { continue }
                clearing = present
            case .checking, .leaving, .offline, .inUse, .refused: continue
            }
            for topic in clearing.remaining {
                lastToken += 1
                let token = DeliveryToken(number: lastToken)
                clearing.underWay[token] = topic
                effects.append(.publish(MQTTMessage(topic: topic, text: "", qos: .atLeastOnce, retain: true), token))
            }
            clearing.remaining = []
            clearing.due = nil
            names[index].phase = .clearing(clearing)
        }
        return effects
    }

    /// Saves the names that may still have retained messages.
    private mutating func remember() -> Effects {
        memory.remember(roots.union([current])).map { [.write(memory.file, $0)] } ?? []
    }
}
