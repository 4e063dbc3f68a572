import JostleConfiguration
import MotionCore
import Testing

@testable import JostleMessages

/// Requirement: topics and payloads have the names and units of the contract's table.
@Suite struct PayloadTests {
    private let topics = Topics(prefix: "jostle", id: "washer-1")

    @Test func topicsMatchContract() {
        #expect(topics.root == "jostle/washer-1")
        #expect(topics.availability == "jostle/washer-1/availability")
        #expect(topics.attitude == "jostle/washer-1/attitude")
        #expect(topics.motion == "jostle/washer-1/motion")
        #expect(topics.state == "jostle/washer-1/state")
        #expect(topics.health == "jostle/washer-1/health")
        #expect(topics.nearMiss == "jostle/washer-1/near-miss")
        #expect(topics.event(GestureKind(.shake)) == "jostle/washer-1/event/shake")
        #expect(topics.command("reboot") == "jostle/washer-1/command/reboot")
        #expect(topics.result(of: "reboot") == "jostle/washer-1/command/reboot/result")
        #expect(Topics(prefix: "home/first-floor", id: "a").state == "home/first-floor/a/state")
    }

    /// Vectors with a different value on each axis, some of them negative.
    private var state: MotionState {
        var state = MotionState()
        state.relativeAttitude = Quaternion.fromEulerAngles(roll: 1.2, pitch: -4.5, yaw: 78.9)
        // Must not be published: the payload is the attitude relative to the reference.
        state.attitude = Quaternion.fromEulerAngles(roll: 50, pitch: 20, yaw: -100)
        state.linearAcceleration = Vector3(0.1234, -1.5, 12)
        state.gravity = Vector3(-0.7702, 0.2049, 9.774)
        state.rotationRate = Vector3(0.1, -0.02, 3)
        state.temperature = 23.44
        return state
    }

    @Test func attitudeIsInDegreesRelativeToReference() {
        #expect(
            Payloads.attitude(state, at: 1_795_182_603_123).description
                == #"{"t":1795182603123,"roll":1.2,"pitch":-4.5,"yaw":78.9,"#
                + #""q":[0.771281,0.033024,-0.023665,0.635197]}"#)
    }

    @Test func attitudeSaysHowFarItMayBeOff() {
        var state = state
        state.deviation = AttitudeDeviation(tilt: 0.0123, heading: 0.21)
        #expect(
            Payloads.attitude(state, at: 1).description
                .hasSuffix(#"0.635197],"tilt_deviation":0.7,"heading_deviation":12}"#))
        state.heading = HeadingState(quality: .tracking, deviation: 0.05, field: 48)
        #expect(
            Payloads.attitude(state, at: 1).description
                .hasSuffix(
                    #","tilt_deviation":0.7,"heading":100,"heading_deviation":2.9,"heading_quality":"tracking"}"#))
    }

    /// The heading is that against north, not against the reference.
    @Test(arguments: [(-100, 100), (100, 260), (0.01, 0), (-0.04, 0), (179, 181)] as [(Double, Double)])
    func headingIsClockwiseFromNorth(yaw: Double, heading: Double) {
        var state = state
        state.attitude = Quaternion.fromEulerAngles(roll: 50, pitch: 20, yaw: yaw)
        state.heading = HeadingState(quality: .disturbed, deviation: 0.05, field: 48)
        let payload = Payloads.attitude(state, at: 1).description
        let text = heading == heading.rounded() ? "\(Int(heading))" : "\(heading)"
        #expect(
            payload.hasSuffix(#","heading":\#(text),"heading_deviation":2.9,"heading_quality":"disturbed"}"#),
            "\(payload)")
    }

    @Test func motionIsInMetresPerSquareSecondAndDegreesPerSecond() {
        #expect(
            Payloads.motion(state, at: 5).description
                == #"{"t":5,"acceleration":[0.123,-1.5,12],"gravity":[-0.77,0.205,9.774],"#
                + #""rotation":[5.73,-1.15,171.89],"temperature":23.4}"#)
    }

    @Test func omitsUnknownTemperature() {
        var state = state
        state.temperature = .nan
        #expect(!Payloads.motion(state, at: 5).description.contains("temperature"))
    }

    @Test func stateMatchesContract() {
        var state = MotionState()
        state.isMoving = true
        state.side = .minusY
        state.gravity = Quaternion.fromEulerAngles(roll: 90, pitch: 0, yaw: 33).unrotate(state.gravity)
        let payload = Payloads.state(DeviceState(state, isSimulated: true), at: 7)
        #expect(
            payload.description
                == #"{"t":7,"moving":true,"side":"-y","tilt":90,"vibrating":false,"vibration":0,"simulated":true,"stopped":false}"#
        )
    }

    @Test func eventHasKnownFieldsOnly() {
        var event = GestureEvent(.shake, .began, at: Timestamp(nanoseconds: 0))
        event.strength = 14.204
        event.axis = .x
        event.reversals = 2
        event.duration = 0.2804
        #expect(
            Payloads.event(event, id: "00c0ffee00c0ffee-1", at: 1_795_182_603_123, isSimulated: false).description
                == #"{"id":"00c0ffee00c0ffee-1","t":1795182603123,"gesture":"shake","phase":"began","#
                + #""strength":14.2,"axis":"x","reversals":2,"duration":0.28}"#)
        event.phase = .cancelled
        event.reason = .tooWeak
        event.strength = nil
        #expect(
            Payloads.event(event, id: "r-2", at: 9, isSimulated: true).description
                == #"{"id":"r-2","t":9,"gesture":"shake","phase":"cancelled","axis":"x","reversals":2,"#
                + #""duration":0.28,"reason":"too_weak","simulated":true}"#)
    }

    @Test func eventHasAllFields() {
        var event = GestureEvent(.turn, .ended, at: Timestamp(nanoseconds: 0))
        event.strength = 3
        event.axis = .z
        event.direction = .left
        event.side = .minusZ
        event.from = .plusX
        event.to = .minusY
        event.count = 2
        event.reversals = 4
        event.angle = -90.04 * radiansPerDegree
        event.rate = 112.34 * radiansPerDegree
        event.level = 0.1234
        event.frequency = 24.666
        event.height = 0.513
        event.duration = 1.5
        #expect(
            Payloads.event(event, id: "r-3", at: 9, isSimulated: false).description
                == #"{"id":"r-3","t":9,"gesture":"turn","phase":"ended","strength":3,"axis":"z","reversals":4,"#
                + #""direction":"left","side":"-z","from":"+x","to":"-y","count":2,"angle":-90,"rate":112.3,"level":0.123,"#
                + #""frequency":24.67,"height":0.51,"duration":1.5}"#)
    }

    @Test func namesMatchContract() {
        #expect(
            Gesture.builtIn.map(\.word) == [
                "shake", "tap", "flick", "turn", "flip", "tilt", "fall", "impact", "motion", "vibration",
            ])
        #expect(
            MotionDirection.allCases.map(\.word) == ["left", "right", "up", "down", "forward", "backward"])
        #expect(GesturePhase.allCases.map(\.word) == ["began", "changed", "ended", "cancelled", "recognized"])
        #expect(
            CancellationReason.allCases.map(\.word) == [
                "too_weak", "too_long", "interrupted", "sensor_lost", "disabled", "stopped", "restarted",
                "too_short", "tilted",
            ])
        #expect(BodyAxis.allCases.map(\.word) == ["x", "y", "z"])
        #expect(BodySide.allCases.map(\.word) == ["+x", "-x", "+y", "-y", "+z", "-z"])
    }

    @Test func stateDiffersInAnyField() {
        let state = DeviceState(MotionState(), isSimulated: false)
        #expect(!state.differs(from: state))
        for change: (inout DeviceState) -> Void in [
            { $0.isMoving = true }, { $0.side = .minusZ }, { $0.isSimulated = true },
        ] {
            var other = state
            change(&other)
            #expect(other.differs(from: state))
        }
    }
    @Test func tiltDiffersFromTwoDegrees() {
        let state = DeviceState(MotionState(), isSimulated: false)
        var other = state
        for (degrees, isDifferent) in [(0, false), (1.9, false), (-1.9, false), (2.1, true), (-2.1, true)] {
            other.tilt = degrees * radiansPerDegree
            #expect(other.tiltDiffers(from: state) == isDifferent)
            #expect(!other.differs(from: state))
        }
    }
}

extension Quaternion {
    /// The attitude with these intrinsic Z-Y'-X'' angles in degrees.
    static func fromEulerAngles(roll: Double, pitch: Double, yaw: Double) -> Quaternion {
        Quaternion(angle: yaw * radiansPerDegree, axis: Vector3(0, 0, 1))
            * Quaternion(angle: pitch * radiansPerDegree, axis: Vector3(0, 1, 0))
            * Quaternion(angle: roll * radiansPerDegree, axis: Vector3(1, 0, 0))
    }
}
