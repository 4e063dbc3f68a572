import MotionKit

/// Names the types that a program uses, in its own declarations: `import MotionKit` alone must be enough.
struct Names {
    var event: GestureEvent
    var gesture: Gesture = .shake
    var gestures: GestureSet = [.shake, .tap]
    var phase: GesturePhase = .began
    var reason: CancellationReason? = .tooWeak
    var direction: MotionDirection = .left
    var side: BodySide = .plusZ
    var axis: BodyAxis = .x
    var attitude: Quaternion = .identity
    var angles: EulerAngles = Quaternion.identity.eulerAngles
    var vector: Vector3 = .zero
    var mount: Matrix3 = .phoneAxes
    var state = MotionState()
    var values: CoreMotionValues = MotionState().coreMotion
    var settings = MotionSettings()
    var gestureSettings: GestureSettings = MotionSettings().gestures
    var relations = GestureRelations()
    var gate = GestureGate()
    var counts: TapCounts = [.single, .double]
    var policy: ReferencePolicy = .start
    var imu = IMUSettings()
    var family: IMUFamily = .mpu6050
    var sensor: SensorSelection = .mpu6050(bus: "/dev/i2c-1", address: 0x68)
    var kernelSensor: SensorSelection = .kernel(device: "iio:device0")
    var line = GPIOPlace(chip: "gpiochip0", line: .number(17))
    var error: SensorError?
    var referenceError: ReferenceError?
    var simulationError: SimulationError?
    var sensorEvent: SensorEvent = .streaming(afterGap: 0)
    var status: IMUStatus?
    var info: IMUInfo?
    var sample: MeasuredSample?
    var rawSample: MotionSample?
    var nearMiss: NearMiss?
    var change: ReferenceChange?
    var calibration: StoredCalibration?
    var stream: MotionStream<GestureEvent>?
    var token: RecognizerToken?
    var handlerToken: HandlerToken?
    var response: GestureResponse = .passOn
    var recognizers: [Recognizer] = [
        .tap(count: 2), .tap(count: 1, distinguishing: [.single, .double]), .shake.sensitivity(8).cooldown(1),
        .turn(by: 1.5, direction: .left, about: .z), .tilt(by: 0.5), .flick(.left), .flip(to: .minusZ),
        .flick.require(toFail: .tap), .tap.simultaneously(with: .shake),
        .impact.when { ($0.strength ?? 0) > 50 },
    ]
}

/// Uses members of the types of the modules that MotionKit exports.
func checkMembers() throws {
    var settings = MotionSettings()
    settings.mount = .phoneAxes
    settings.gestures.shake.common.sensitivity = 7
    settings.gestures.tap.counts = .all
    settings.attitudeLowPass = MotionSettings.cutoff(ofFactor: 0.05, framesPerSecond: 60)
    try require(abs(settings.attitudeLowPass - 0.49) < 0.01, "a factor of 0.05 at 60 Hz is a cut-off of 0.49 Hz")
    let forward = settings.mount * Vector3(0, 2, 0)
    try require(forward == Vector3(2, 0, 0), "the y axis of a phone is the x axis of the body")
    let turned = Quaternion(angle: 1, axis: Vector3(0, 0, 1)) * .identity
    try require(abs(turned.eulerAngles.yaw - 1) < 1e-9, "yaw is about z")
    try require(GestureRelations().excluded(by: .shake).contains(.tap), "a shake excludes taps")
}

/// Starts without blocking. In top-level code, even with `await`, the compiler would choose the other `start`.
func start(_ manager: MotionManager) async throws(SensorError) {
    try await manager.start()
}
