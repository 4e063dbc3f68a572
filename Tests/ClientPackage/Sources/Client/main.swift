import MotionKit

/// Counts on an actor of its own.
actor ShakeCounter {
    private(set) var beginnings = 0

    func add() -> Int {
        beginnings += 1
        return beginnings
    }
}

try checkMembers()

// MARK: Errors

do {
    try await start(MotionManager(sensor: .virtual("nowhere")))
    throw Failure(description: "a trajectory that does not exist was started")
} catch let error as SensorError {
    guard case .unknownTrajectory("nowhere", let known) = error else { throw error }
    try require(known.contains("shake"), "the error names the trajectories: \(error)")
    try require(!error.isPermission, "the error is not about permission")
    print("as expected: \(error)")
}
do {
    try MotionManager().takeReference()
    throw Failure(description: "a reference was taken without a sensor")
} catch let error as ReferenceError {
    try require("\(error)".contains("start()"), "the error says what to do: \(error)")
    print("as expected: \(error)")
}

// MARK: A shake on the virtual chip

let checklist = Checklist([
    "gestures(.shake)", "a handler", "a handler on an actor", "a handler on the main actor", "motion(every:)",
    "samples", "sensorEvents",
])
let manager = MotionManager(sensor: .virtual("shake"))
manager.changeSettings { $0.reference = .start }

manager.addRecognizer(.shake.sensitivity(6)) { event in
    if event.phase == .began { Task { await checklist.check("a handler") } }
    return .passOn
}

let counter = ShakeCounter()
manager.addRecognizer(.shake, on: counter) { counter, event in
    guard event.phase == .began, counter.add() == 1 else { return }
    await checklist.check("a handler on an actor")
}

// A variable of the program: the handler runs on the main actor, as top-level code does.
var openShakes = 0
let token = manager.addRecognizer(.shake, on: MainActor.self) { event in
    openShakes += event.phase == .began ? 1 : -1
    if openShakes == 0 { await checklist.check("a handler on the main actor") }
}

// Streams begin when they are created, so none of these misses anything.
let gestures = manager.gestures(.shake)
let motion = manager.motion(every: 0.05)
let samples = manager.samples
let sensorEvents = manager.sensorEvents

Task {
    for await event in gestures where event.phase == .ended && event.reversals != nil {
        await checklist.check("gestures(.shake)")
    }
}
Task {
    for await state in motion where state.coreMotion.gravity.z < -0.9 { await checklist.check("motion(every:)") }
}
Task {
    for await sample in samples where sample.number > 100 && sample.acceleration.isFinite {
        await checklist.check("samples")
    }
}
Task {
    for await case .streaming in sensorEvents { await checklist.check("sensorEvents") }
}

do {
    try await start(manager)
} catch {
    // The type of the error is known: it has a description for people.
    throw Failure(description: "the sensor cannot be read: \(error.description)")
}
try require(manager.isSimulated == true, "the chip is virtual")

let missing = await checklist.waitForAll(within: .seconds(20))
token.remove()
manager.stop()
guard missing.isEmpty else {
    throw Failure(description: "missing after 20 s: \(missing.joined(separator: ", "))")
}
print("Everything works with `import MotionKit` alone.")
