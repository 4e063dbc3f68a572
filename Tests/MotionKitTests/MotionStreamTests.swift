import BrokerTestSupport
import MotionCore
import Synchronization
import Testing

@testable import MotionKit

/// Streams and handlers on actors: bounded, in order, and over when their consumer or their manager is.
@Suite(.timeLimit(.minutes(1))) struct MotionStreamTests {
    private let rig = Rig()

    private actor Lamp {
        var phases: [GesturePhase] = []
        func note(_ phase: GesturePhase) { phases.append(phase) }
    }

    @Test func gesturesArriveAsASequence() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let stream = manager.gestures(.shake)
        try manager.start(with: ScriptedDevice([.samples(Movement.wholeShake())]))
        var phases: [GesturePhase] = []
        for await event in stream {
            phases.append(event.phase)
            if event.phase == .ended { break }
        }
        #expect(phases == [.began, .ended])
    }

    @Test func streamOfAllGesturesObservesOnly() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let others = Journal<GesturePhase>()
        manager.setDefaultResponder { others.append($0.phase) }
        let stream = manager.gestures()
        try manager.start(with: ScriptedDevice([.samples(Movement.wholeShake())]))
        #expect(await eventually { others.entries == [.began, .ended] })
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next()?.phase == .began)
        #expect(await iterator.next()?.phase == .ended)
    }

    @Test func slowConsumerOfMotionGetsTheNewestState() async throws {
        let manager = rig.manager(updateInterval: 10)
        let stream = manager.motion(every: 0)
        try manager.start(feeding: Movement.rest(0.2))
        #expect(await eventually { stream.droppedCount == 39 })
        var iterator = stream.makeAsyncIterator()
        let state = await iterator.next()
        #expect(state?.timestamp == manager.state?.timestamp)
    }

    @Test func samplesAreNumberedInOrder() async throws {
        let manager = rig.manager()
        let stream = manager.samples
        try manager.start(with: ScriptedDevice([.samples(Movement.rest(1))]))
        var numbers: [UInt64] = []
        for await sample in stream {
            numbers.append(sample.number)
            if numbers.count == 200 { break }
        }
        #expect(numbers == Array(0..<200))
    }

    @Test func sensorEventsArrive() async throws {
        let manager = rig.manager()
        let stream = manager.sensorEvents
        try manager.start(with: ScriptedDevice([.event(.streaming(afterGap: 0)), .event(.failed(.stalled))]))
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == .streaming(afterGap: 0))
        #expect(await iterator.next() == .failed(.stalled))
    }

    @Test func oldestElementsAreDroppedFirst() async {
        let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let buffer = StreamBuffer<Int>(continuation, insert: StreamPolicy.newest(3))
        buffer.push(Array(1...5))
        buffer.finish()
        let stream = MotionStream(buffer, signals)
        #expect(stream.droppedCount == 2)
        var all: [Int] = []
        for await number in stream { all.append(number) }
        #expect(all == [3, 4, 5])
    }

    @Test func queueKeepsItsOrderOverManyElements() {
        var queue = StreamQueue<Int>()
        var taken: [Int] = []
        for number in 0..<2000 {
            queue.append(number)
            if number % 3 != 0, let next = queue.pop() { taken.append(next) }
        }
        while let next = queue.pop() { taken.append(next) }
        #expect(taken == Array(0..<2000) && queue.count == 0)
    }

    /// A full buffer drops whole gestures: every beginning that it keeps has its end.
    @Test func fullBufferKeepsBeginningsAndEndsTogether() {
        let admission = GestureAdmission()
        var queue = StreamQueue<GestureEvent>()
        func insert(_ gesture: Gesture, _ phase: GesturePhase, angle: Double? = nil) -> Int {
            var event = GestureEvent(gesture, phase, at: Timestamp(seconds: 1))
            event.angle = angle
            return admission.insert(event, into: &queue)
        }
        #expect(insert(.turn, .began) == 0)
        #expect(insert(.turn, .changed, angle: 1) == 0)
        for _ in 0..<62 { #expect(insert(.tap, .recognized) == 0) }
        #expect(insert(.tap, .recognized) == 1)
        #expect(insert(.turn, .changed, angle: 2) == 1)
        #expect(insert(.shake, .began) == 1)
        #expect(insert(.turn, .ended) == 0)
        #expect(insert(.shake, .ended) == 1)
        #expect(queue.count == 65)
        while queue.count > 10 { _ = queue.pop() }
        #expect(insert(.shake, .began) == 0 && insert(.shake, .cancelled) == 0)
        let phases = queue.elements.filter { $0.gesture != .tap }.map { "\($0.gesture) \($0.phase) \($0.angle ?? 0)" }
        #expect(Array(phases.suffix(3)) == ["turn ended 0.0", "shake began 0.0", "shake cancelled 0.0"])
    }

    @Test func changeThatFindsNoRoomReplacesTheOneBefore() {
        let admission = GestureAdmission()
        var queue = StreamQueue<GestureEvent>()
        for index in 0..<70 {
            var event = GestureEvent(.turn, index == 0 ? .began : .changed, at: Timestamp(seconds: 1))
            event.angle = Double(index)
            _ = admission.insert(event, into: &queue)
        }
        #expect(queue.count == 64 && queue.elements.last?.angle == 69)
    }

    @Test func streamEndsWithItsManager() async {
        var manager: MotionManager? = MotionManager()
        let streams = manager.map { ($0.gestures(.tap), $0.motion(every: 1), $0.samples) }
        manager = nil
        var count = 0
        if let streams {
            for await _ in streams.0 { count += 1 }
            for await _ in streams.1 { count += 1 }
            for await _ in streams.2 { count += 1 }
        }
        #expect(count == 0)
    }

    @Test func cancelledConsumerLeavesNoHandlerBehind() async {
        let manager = MotionManager()
        #expect(manager.handlers.measured.isEmpty)
        let stream = manager.samples
        #expect(!manager.handlers.measured.isEmpty)
        let task = Task { for await _ in stream {} }
        task.cancel()
        await task.value
        #expect(await eventually { manager.handlers.measured.isEmpty })
    }

    @Test func streamThatNobodyIteratesIsRemoved() async {
        let manager = MotionManager()
        var stream: MotionStream<MeasuredSample>? = manager.samples
        #expect(stream != nil && !manager.handlers.measured.isEmpty)
        stream = nil
        #expect(await eventually { manager.handlers.measured.isEmpty })
    }

    @Test func handlerOnAnActorUsesItsState() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let lamp = Lamp()
        let token = manager.addRecognizer(.shake, on: lamp) { lamp, event in lamp.note(event.phase) }
        var movement = Movement()
        try manager.start(feeding: movement.wholeShake() + movement.openShake())
        try await waitFor(3, lamp)
        token.remove()
        try await waitFor(4, lamp)
        #expect(await lamp.phases == [.began, .ended, .began, .cancelled])
    }

    /// The task that calls the handler ends, and with it the reference to the actor.
    @Test(arguments: [false, true]) func removalReleasesTheActor(isGestureOpen: Bool) async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let lamp = Mutex<Lamp?>(Lamp())
        let release = Counter()
        weak var observed: Lamp?
        var movement = Movement()
        let device = ScriptedDevice([.samples(isGestureOpen ? movement.openShake() : movement.wholeShake())])
        let token = try #require(
            lamp.withLock { lamp in
                observed = lamp
                return lamp.map { manager.addRecognizer(.shake, on: $0) { _, _ in release.countUp() } }
            })
        try manager.start(with: device)
        #expect(await eventually { release.value == (isGestureOpen ? 1 : 2) })
        token.remove()
        lamp.withLock { $0 = nil }
        #expect(await eventually { observed == nil })
    }

    private func waitFor(_ count: Int, _ lamp: Lamp) async throws {
        let deadline = monotonicSeconds() + 40
        while await lamp.phases.count < count {
            try #require(monotonicSeconds() < deadline)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test func handlerOnTheMainActorMayConsume() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let below = Journal<GesturePhase>()
        let count = Counter()
        manager.setDefaultResponder { below.append($0.phase) }
        manager.addRecognizer(.shake, on: MainActor.self, response: .consume) { _ in
            MainActor.assertIsolated()
            count.countUp()
        }
        try manager.start(with: ScriptedDevice([.samples(Movement.wholeShake())]))
        #expect(await eventually { count.value == 2 })
        #expect(below.count == 0)
    }

    /// Opening takes time: a data-ready line that does not exist fails on the starting thread, and the error arrives.
    @Test func asynchronousStartReportsItsError() async {
        let manager = MotionManager(sensor: .virtual("no such trajectory"))
        await #expect(throws: SensorError.self) { try await manager.start() }
        #expect(!manager.isRunning)
    }

    @Test func referenceNeedsARunAndAStoredOneAPlace() async throws {
        let manager = MotionManager(sensor: .virtual("rest"))
        #expect(throws: ReferenceError.notRunning) { try manager.takeReference() }
        #expect(throws: ReferenceError.notRunning) { try manager.clearReference() }
        manager.settings.reference = .stored
        #expect(throws: ReferenceError.noStateDirectory) { try manager.takeReference() }
        do {
            try await manager.start()
            Issue.record("started without a place for the reference")
        } catch {
            #expect("\(error)".contains("stateDirectory"))
        }
    }

    @Test func referenceChangesAreReported() async throws {
        let manager = rig.manager()
        let changes = Journal<ReferenceChange>()
        manager.addReferenceHandler { changes.append($0) }
        manager.settings.reference = .start
        try manager.start(feeding: Movement.rest(6))
        #expect(await eventually { changes.entries.map(\.origin) == [.rest] })
        try manager.clearReference()
        #expect(await eventually { changes.entries.map(\.origin) == [.rest, .none] })
        #expect(changes.entries.last?.attitude == nil)
    }
}
