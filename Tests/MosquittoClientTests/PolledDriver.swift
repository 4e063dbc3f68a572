import BrokerTestSupport
import Glibc
import MosquittoClient

/// Drives clients on the calling thread, and records their events.
struct PolledDriver {
    /// A client, and its recorded events.
    final class Member {
        let client: MQTTPolledClient
        var connects = 0
        var subscribed = 0
        var ends = 0
        var messages: [MQTTMessage] = []
        var tokens: [Int] = []
        var stopped: [Int]?

        init(_ client: MQTTPolledClient) {
            self.client = client
        }

        func note(_ event: MQTTEvent) {
            switch event {
            case .connected: connects += 1
            case .subscribed: subscribed += 1
            case .message(let message): messages.append(message)
            case .acknowledged(let token): tokens.append(Int(token.number))
            case .disconnected: ends += 1
            case .stopped(let undelivered): stopped = undelivered.map { Int($0.number) }
            case .connecting, .subscriptionRefused, .subscriptionLeftOut, .subscriptionRestored, .rejected: break
            }
        }
    }

    private(set) var members: [Member] = []

    mutating func add(_ client: MQTTPolledClient) {
        members.append(Member(client))
    }

    /// Drops a client in its present state.
    mutating func forget(_ index: Int) {
        members.remove(at: index)
    }

    /// Drives all clients until a condition holds. Returns `false` if it does not in time.
    func drive(within limit: Duration = patience, until condition: ([Member]) -> Bool) -> Bool {
        let end = ContinuousClock.now + limit
        while !condition(members) {
            if ContinuousClock.now >= end { return false }
            var entries = members.map { member in
                let interest = member.client.interest
                return pollfd(
                    fd: interest?.descriptor ?? -1, events: interest?.readiness.pollEvents ?? 0, revents: 0)
            }
            let deadline = members.compactMap(\.client.deadline).min() ?? end
            poll(&entries, nfds_t(entries.count), Self.milliseconds(until: min(deadline, end)))
            let now = ContinuousClock.now
            for (member, entry) in zip(members, entries) {
                let readiness = MQTTReadiness(pollEvents: entry.revents)
                guard let deadline = member.client.deadline, !readiness.isEmpty || deadline <= now else { continue }
                for event in member.client.advance(readiness, now: now) { member.note(event) }
            }
        }
        return true
    }

    /// A timeout for `poll`, rounded up.
    static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        Int32(max(0, min(1000, (ContinuousClock.now.duration(to: deadline) / .milliseconds(1)).rounded(.up))))
    }
}
