import Foundation
import JostleConfiguration
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: one run a rule at a time, at most four events wait, and what fails is named once.
@Suite struct ActionQueueTests {
    private func actions(_ rules: String) throws -> [JostleSettings.Action] {
        try JostleSettings.load(file: nil, overrides: ["actions=[\(rules)]"]).settings.actions
    }

    /// A queue with one rule, whose steps are collected.
    private struct Bench {
        var queue = ActionQueue()
        let action: JostleSettings.Action
        var now = Timestamp(seconds: 100)
        private(set) var started: [String] = []
        private(set) var lines: [String] = []
        private(set) var reports = 0

        init(_ action: JostleSettings.Action) { self.action = action }

        var lane: ActionQueue.Lane { ActionQueue.lanes(of: action)[0] }

        private mutating func take(_ steps: [ActionQueue.Step]) {
            for step in steps {
                switch step {
                case .start(let job): started.append(job.event)
                case .log(_, let line): lines.append(line)
                case .reportHealth: reports += 1
                }
            }
        }

        mutating func add(_ event: String) { take(queue.add(action, event, at: now)) }
        mutating func end(_ outcome: ActionOutcome) { take(queue.ended(lane, outcome, at: now)) }
        mutating func pass(_ seconds: Double) {
            now = now.advanced(bySeconds: seconds)
            take(queue.start(at: now))
        }
        var statistics: ActionQueue.Statistics? { queue.statistics(of: [action]) }
    }

    @Test func runsOneAfterTheOther() throws {
        var bench = Bench(try actions("{on: shake, name: a, run: /bin/true}")[0])
        for number in 1...7 { bench.add("\(number)") }
        #expect(bench.started == ["1"])
        #expect(bench.statistics?.waiting == 4 && bench.statistics?.dropped == 2)
        #expect(bench.lines == ["action a: 4 events wait already, so this one is left out"])
        for _ in 1...5 { bench.end(.done) }
        #expect(bench.started == ["1", "2", "3", "4", "5"])
        #expect(bench.statistics == ActionQueue.Statistics(done: 5, failed: 0, dropped: 2))
        bench.add("8")
        #expect(bench.started.last == "8")
    }

    @Test func rulesRunSideBySide() throws {
        let rules = try actions("{on: shake, run: /bin/a}, {on: shake, run: /bin/b, post: 'http://c'}")
        var queue = ActionQueue()
        let steps = rules.flatMap { queue.add($0, "{}", at: Timestamp(seconds: 1)) }
        let tasks = steps.compactMap { step -> ActionTask? in
            if case .start(let job) = step { job.lane.task } else { nil }
        }
        #expect(
            tasks == [
                .run(["/bin/a"], seconds: 10), .run(["/bin/b"], seconds: 10), .post(.url("http://c")),
            ])
    }

    @Test func neverMoreThanEightRun() throws {
        let rules = try actions((1...20).map { "{on: shake, run: /bin/p\($0)}" }.joined(separator: ", "))
        var queue = ActionQueue()
        let now = Timestamp(seconds: 1)
        let steps = rules.flatMap { queue.add($0, "{}", at: now) }
        #expect(steps.count == 8)
        // Not even a post that is due again, for which the loop would otherwise be called again and again.
        let post = try actions("{on: shake, post: 'http://a'}")[0]
        _ = queue.add(post, "{}", at: now)
        #expect(queue.nextDeadline == nil)
        let next = queue.ended(ActionQueue.lanes(of: rules[0])[0], .done, at: now)
        #expect(next == [.start(.init(lane: ActionQueue.lanes(of: rules[8])[0], event: "{}", born: now))])
    }

    /// A failure is logged once and reported until it works again; a run is not repeated.
    @Test func failureIsNamedOnce() throws {
        var bench = Bench(try actions("{on: tap, name: a, run: /bin/false}")[0])
        for _ in 1...3 {
            bench.add("x")
            bench.end(.failed("/bin/false exited with status 1", mayRetry: false))
        }
        #expect(bench.lines == ["action a: /bin/false exited with status 1"])
        #expect(bench.started.count == 3 && bench.reports == 1)
        #expect(bench.statistics?.failed == 3)
        #expect(bench.statistics?.faults == ["a: /bin/false exited with status 1"])
        bench.add("x")
        bench.end(.done)
        #expect(bench.lines.last == "action a: it works again" && bench.reports == 2)
        #expect(bench.statistics?.faults == [])
    }

    /// The pauses double, and an event is given up after five minutes; the next one is tried at the same pace.
    @Test func postIsTriedAgain() throws {
        var bench = Bench(try actions("{on: tap, post: 'http://a'}")[0])
        bench.add("x")
        var times: [Double] = []
        let start = bench.now
        while bench.statistics?.failed == 0 {
            bench.end(.failed("no network", mayRetry: true))
            guard let due = bench.queue.nextDeadline else { break }
            bench.pass(due.seconds(since: bench.now))
            times.append(bench.now.seconds(since: start).rounded())
        }
        #expect(times == [2, 6, 14, 30, 62, 122, 182, 242])
        #expect(bench.started.count == 9 && bench.statistics?.failed == 1)
        #expect(bench.lines == ["action on tap recognized: no network"])
        bench.add("y")
        bench.end(.done)
        #expect(bench.started.last == "y" && bench.lines.last == "action on tap recognized: it works again")
    }

    /// Nothing of a rule that was removed or switched off waits any more.
    @Test func forgetsRulesThatAreGone() throws {
        var off = try actions("{on: tap, name: a, run: /bin/true}")
        var bench = Bench(off[0])
        bench.add("1")
        bench.add("2")
        off[0].isEnabled = false
        bench.queue.keep(only: off)
        bench.end(.done)
        #expect(bench.started == ["1"])
        bench.queue.keep(only: [])
        #expect(bench.statistics?.waiting == 0)
        #expect(bench.queue.statistics(of: []) == nil)
    }
}
