import BrokerTestSupport
import Foundation
import LinuxSystem
import Synchronization
import Testing

/// Requirement: a wake signal is never lost, and without one a wait ends in time.
@Suite struct WakeSignalTests {
    @Test func aSignalBeforeTheWaitEndsIt() async throws {
        let signal = try #require(WakeSignal())
        let isBack = Flag()
        signal.signal()
        let thread = try #require(
            WorkerThread(name: "waiter") {
                signal.wait(seconds: nil)
                isBack.set()
            })
        #expect(await eventually { isBack.isSet })
        #expect(thread.join(within: 5))
    }

    @Test func aSignalEndsAWaitInProgress() async throws {
        let signal = try #require(WakeSignal())
        let waits = Counter()
        let thread = try #require(
            WorkerThread(name: "waiter") {
                for _ in 0..<20 {
                    signal.wait(seconds: nil)
                    waits.countUp()
                }
            })
        for number in 1...20 {
            signal.signal()
            #expect(await eventually { waits.value == number })
        }
        #expect(thread.join(within: 5))
    }

    @Test func aWaitEndsAfterItsTimeout() throws {
        let signal = try #require(WakeSignal())
        let start = monotonicSeconds()
        signal.wait(seconds: 0.05)
        #expect(monotonicSeconds() - start >= 0.05)
    }

    /// One wait clears any number of signals.
    @Test func aWaitClearsAllSignals() throws {
        let signal = try #require(WakeSignal())
        for _ in 0..<5 { signal.signal() }
        signal.wait(seconds: nil)
        let start = monotonicSeconds()
        signal.wait(seconds: 0.05)
        #expect(monotonicSeconds() - start >= 0.05)

        signal.signal()
        signal.wait(seconds: -1)
        let again = monotonicSeconds()
        signal.wait(seconds: 0.05)
        #expect(monotonicSeconds() - again >= 0.05)
    }
}

/// Requirement: a thread is joined if it ends in time, and detached otherwise.
@Suite struct WorkerThreadTests {
    @Test func joinWaitsForTheEnd() throws {
        let isDone = Flag()
        let thread = try #require(
            WorkerThread(name: "short") {
                usleep(20_000)
                isDone.set()
            })
        #expect(thread.join(within: 10))
        #expect(isDone.isSet)
    }

    @Test func aStuckThreadIsDetachedAndEndsByItself() async throws {
        let gate = Gate()
        let isDone = Flag()
        let thread = try #require(
            WorkerThread(name: "stuck") {
                gate.pass()
                isDone.set()
            })
        let start = monotonicSeconds()
        #expect(!thread.join(within: 0.1))
        #expect(monotonicSeconds() - start >= 0.1)
        #expect(!isDone.isSet)
        gate.open()
        #expect(await eventually { isDone.isSet })
    }

    @Test func aThreadDoesNotWaitForItself() async throws {
        let holder = Mutex<WorkerThread?>(nil)
        let isCurrent = Journal<Bool>()
        let joined = Journal<Bool>()
        let gate = Gate()
        let thread = try #require(
            WorkerThread(name: "itself") {
                gate.pass()
                guard let thread = holder.withLock({ $0 }) else { return }
                isCurrent.append(thread.isCurrent)
                joined.append(thread.join(within: 10))
            })
        #expect(!thread.isCurrent)
        holder.withLock { $0 = thread }
        gate.open()
        #expect(await eventually { joined.count == 1 })
        #expect(isCurrent.entries == [true])
        #expect(joined.entries == [false])
    }

    /// A thread that waits is not kept from running by a busy processor; one that computes may be.
    @Test func tellsWhetherItWantsToRun() async throws {
        let signal = try #require(WakeSignal())
        let isOver = Flag()
        let thread = try #require(
            WorkerThread(name: "waits) (runs") {
                signal.wait(seconds: nil)
                while !isOver.isSet {}
            })
        #expect(await eventually { !thread.isRunnable })
        signal.signal()
        #expect(await eventually { thread.isRunnable })
        isOver.set()
        #expect(thread.join(within: 10))
    }

    /// Signals are handled on the main thread only, and threads can be identified in `top -H`.
    @Test func hasANameAndBlocksSignals() throws {
        let name = Journal<String?>()
        let blocksTermination = Journal<Bool>()
        let thread = try #require(
            WorkerThread(name: "jostle-test") {
                name.append(try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8))
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                blocksTermination.append(sigismember(&mask, SIGTERM) == 1)
            })
        #expect(thread.join(within: 10))
        #expect(name.entries == ["jostle-test\n"])
        #expect(blocksTermination.entries == [true])
    }
}
