import MotionCore
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: in the sandbox, which forbids to ask the kernel, the agent learns all the same that a program keeps the
/// time, and asks seldom.
@Suite struct ClockSynchronisationTests {
    /// What the time service answers, and how often it was asked.
    private final class TimeServiceStub: Sendable {
        let answer = Mutex<Bool?>(false)
        let questions = Mutex(0)
        let hasThreads = Mutex(true)

        func ask() -> Bool? {
            questions.withLock { $0 += 1 }
            return answer.withLock { $0 }
        }
    }

    private let service = TimeServiceStub()

    private func synchronisation(quick: Bool? = nil) -> ClockSynchronisation {
        let service = service
        var sources = ClockSynchronisation.Sources()
        sources.quick = { quick }
        sources.slow = { service.ask() }
        sources.run = { work in
            guard service.hasThreads.withLock({ $0 }) else { return false }
            work()
            return true
        }
        return ClockSynchronisation(sources)
    }

    private var questions: Int { service.questions.withLock { $0 } }

    /// The answer after `seconds`, with the clock stepped by `step` ms.
    private func ask(_ clock: ClockSynchronisation, after seconds: Double, step: Int64 = 0) -> Bool {
        let now = Timestamp(nanoseconds: Int64(seconds * 1e9))
        return clock.isSynchronised(sinceBoot: now, wall: Int64(seconds * 1000) + step)
    }

    @Test func serviceIsNotAskedIfTheKernelAnswers() {
        for answer in [true, false] {
            let clock = synchronisation(quick: answer)
            #expect(ask(clock, after: 0) == answer && ask(clock, after: 10_000) == answer)
        }
        #expect(questions == 0)
    }

    @Test func kernelIsAskedEveryFiveSecondsAndAfterAStep() {
        let questions = Mutex(0)
        var sources = ClockSynchronisation.Sources()
        sources.quick = {
            questions.withLock { $0 += 1 }
            return true
        }
        let clock = ClockSynchronisation(sources)
        for tenth in 0..<100 { #expect(ask(clock, after: Double(tenth) / 10)) }
        #expect(questions.withLock { $0 } == 2)
        #expect(ask(clock, after: 10, step: 5000) && ask(clock, after: 11, step: 5000))
        #expect(questions.withLock { $0 } == 3)
    }

    @Test func serviceIsAskedEverLessOften() {
        let clock = synchronisation()
        var times: [Int] = []
        for second in 0..<2000 {
            let before = questions
            #expect(!ask(clock, after: Double(second)))
            if questions > before { times.append(second) }
        }
        #expect(times == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515, 1815])
        service.answer.withLock { $0 = true }
        // The answer arrives on another thread; the next reading has it.
        _ = ask(clock, after: 2200)
        #expect(ask(clock, after: 2201))
        let before = questions
        #expect(ask(clock, after: 5799) && questions == before)
        service.answer.withLock { $0 = nil }
        #expect(ask(clock, after: 5801) && questions == before + 1)
        #expect(!ask(clock, after: 5802))
    }

    /// A time service steps the clock when it has got the time, which may be long after the start.
    @Test func stepIsAReasonToAskSoon() {
        let clock = synchronisation()
        for second in 0...1000 { _ = ask(clock, after: Double(second)) }
        let before = questions
        service.answer.withLock { $0 = true }
        #expect(!ask(clock, after: 1001, step: 900) && questions == before, "slewing is no step")
        #expect(!ask(clock, after: 1002, step: 90_000) && questions == before)
        _ = ask(clock, after: 1007, step: 90_000)
        #expect(questions == before + 1 && ask(clock, after: 1008, step: 90_000))
    }

    @Test func askingIsTriedAgainWithoutThreads() {
        let clock = synchronisation()
        service.answer.withLock { $0 = true }
        service.hasThreads.withLock { $0 = false }
        #expect(!ask(clock, after: 0) && !ask(clock, after: 1) && questions == 0)
        service.hasThreads.withLock { $0 = true }
        _ = ask(clock, after: 5)
        #expect(ask(clock, after: 6) && questions == 1)
    }
}
