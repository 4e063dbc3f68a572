import MotionCore
import Testing

/// Requirement: finds a magnetometer's hard and soft iron from the movement of the board, and refuses what does not suffice.
@Suite struct MagneticFitTests {
    /// Errors of several boards, µT: of the corrected field in the worst direction and of the hard iron, largest of all.
    private func errors(
        _ movement: MagneticRig.Movement, _ count: Int, drift: Double = 0
    ) throws -> (field: Double, hardIron: Double, deviation: Double, residual: Double, heading: Double) {
        var largest = (field: 0.0, hardIron: 0.0, deviation: 0.0, residual: 0.0, heading: 0.0)
        for seed in 1...20 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            rig.drift = drift * radiansPerDegree
            var parameters = MagneticFit.Parameters()
            parameters.largestDeviation = 10
            var fit = MagneticFit(parameters: parameters)
            for reading in rig.readings(movement, count) { fit.add(reading.field, attitude: reading.attitude) }
            let solution = try fit.solve()
            let calibration = solution.calibration
            largest.field = max(largest.field, rig.largestError(calibration))
            largest.hardIron = max(largest.hardIron, (calibration.hardIron - rig.hardIron).length)
            largest.deviation = max(largest.deviation, solution.deviation)
            largest.residual = max(largest.residual, solution.residual)
            largest.heading = max(largest.heading, solution.headingDeviation * degreesPerRadian)
        }
        return largest
    }

    /// Noise of 0.5 µT, soft iron of 10 %, hard iron of 30 µT; the heading of the attitude drifts by 1°.
    @Test(arguments: [
        (MagneticRig.Movement.everywhere, 101, 0.6, 0.25), (.everywhere, 401, 0.3, 0.1),
        (.tilting(degrees: 90), 401, 0.5, 0.2), (.tilting(degrees: 60), 401, 0.8, 0.3),
        (.tilting(degrees: 30), 401, 2, 0.9),
    ])
    func findsErrors(movement: MagneticRig.Movement, count: Int, field: Double, hardIron: Double) throws {
        let errors = try errors(movement, count, drift: 1)
        print(movement, count, errors)
        #expect(errors.field < field && errors.hardIron < hardIron, "\(errors)")
        #expect(errors.residual > 0.4 && errors.residual < 0.6, "\(errors)")
        // The largest of sixty errors of an axis should be some three times the predicted deviation.
        #expect(errors.hardIron < 5 * errors.deviation && errors.hardIron > errors.deviation, "\(errors)")
    }

    /// With the deviation that is usually asked for, whatever is accepted is right.
    @Test func acceptsTiltsOfSixtyDegrees() throws {
        var rig = MagneticRig(seed: 7)
        let solution = try MagneticFit(rig.readings(.tilting(degrees: 60), 401)).solve()
        print(solution)
        #expect(rig.largestError(solution.calibration) < 0.6)
        let place = try #require(solution.calibration.place)
        #expect(abs(place.dip - rig.place.dip) < 0.02 && abs(place.strength - 48) < 5)
        #expect(solution.readings == 400 && solution.readingsLeftOut == 0)
        #expect(solution.headingDeviation * degreesPerRadian < 1.5 && solution.headingDeviation > 0)
    }

    /// A gyroscope whose heading drifts by 60° while the board is turned matters little.
    @Test func followsDriftOfHeading() throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            rig.drift = 60 * radiansPerDegree
            let solution = try MagneticFit(rig.readings(.everywhere, 401)).solve()
            #expect(rig.largestError(solution.calibration) < 0.6)
            #expect((solution.calibration.hardIron - rig.hardIron).length < 0.2)
        }
    }

    // MARK: Refusals

    @Test func refusesTooFewReadings() {
        var rig = MagneticRig(seed: 1)
        #expect(throws: MagneticFitError.tooFewReadings(have: 99, need: 100)) {
            try MagneticFit(rig.readings(.everywhere, 100)).solve()
        }
        #expect(throws: MagneticFitError.tooFewReadings(have: 0, need: 100)) { try MagneticFit().solve() }
    }

    /// A board on the table says nothing about the hard iron along its vertical; tilts of 15° say too little.
    @Test(arguments: [3.0, 15])
    func refusesBoardThatIsHardlyTilted(degrees: Double) {
        for seed in 1...20 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            let fit = MagneticFit(rig.readings(.tilting(degrees: degrees), 401))
            #expect { try fit.solve() } throws: { error in
                guard case .notTurnedEnough(let deviation, _, let missing) = error as? MagneticFitError else {
                    print(error)
                    return false
                }
                return deviation > 0.3 && missing != .plusZ
            }
            #expect(fit.coverage < 0.2)
        }
    }

    @Test func onlyTurnsCountAsReadings() {
        var rig = MagneticRig(seed: 1)
        rig.noise = 0
        var fit = MagneticFit()
        let field = rig.readings(.everywhere, 1)[0].field
        for index in 0..<1000 {
            let angle = 40 * radiansPerDegree * Double(index) / 1000
            fit.add(field, attitude: Quaternion(angle: angle, axis: Vector3(1, 0, 0)))
        }
        #expect(fit.readings == 7)
        fit.add(Vector3(.nan, 0, 0), attitude: .identity)
        #expect(fit.readings == 7)
    }

    @Test func countsDirections() {
        var rig = MagneticRig(seed: 3)
        #expect(MagneticFit(rig.readings(.everywhere, 401)).coverage == 1)
        let tilted = MagneticFit(rig.readings(.tilting(degrees: 30), 401))
        #expect(tilted.coverage == 4.0 / 24 && tilted.missingSide != .plusZ)
    }

    // MARK: Disturbances

    /// Iron that comes near for a tenth of the movement is left out, and does not spoil the rest.
    @Test func leavesOutDisturbance() throws {
        for seed in 1...10 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            var readings = rig.readings(.tilting(degrees: 60), 401)
            for index in 180..<220 {
                readings[index].field += rig.shape * readings[index].attitude.unrotate(Vector3(12, 0, 16))
            }
            let solution = try MagneticFit(readings).solve()
            #expect(solution.readingsLeftOut >= 40 && solution.readingsLeftOut <= 75)
            #expect(rig.largestError(solution.calibration) < 0.8)
        }
    }

    @Test func leavesOutGlitch() throws {
        var rig = MagneticRig(seed: 2)
        var readings = rig.readings(.everywhere, 401)
        readings[200].field = Vector3(-4000, 0, 0)
        let solution = try MagneticFit(readings).solve()
        #expect(solution.readingsLeftOut == 25)
        #expect(rig.largestError(solution.calibration) < 0.3)
    }

    /// A disturbance through half the movement, or a screw that was magnetised in the middle of it, is noticed.
    @Test func refusesLongDisturbance() {
        for isOnBoard in [false, true] {
            var rig = MagneticRig(seed: 4)
            var readings = rig.readings(.tilting(degrees: 60), 401)
            for index in 200..<401 {
                let change = Vector3(4, -8, 4)
                readings[index].field += isOnBoard ? change : readings[index].attitude.unrotate(change)
            }
            let fit = MagneticFit(readings)
            #expect { try fit.solve() } throws: { error in
                guard case .residualTooLarge(let residual) = error as? MagneticFitError else { return false }
                return residual > 1
            }
        }
    }

    /// A noisy magnetometer may have a larger residual if it is as noisy at rest.
    @Test func noiseAtRestExplainsResidual() throws {
        var rig = MagneticRig(seed: 5)
        rig.noise = 1.4
        var fit = MagneticFit(rig.readings(.everywhere, 501))
        #expect { try fit.solve() } throws: { error in
            guard case .residualTooLarge = error as? MagneticFitError else { return false }
            return true
        }
        fit.restNoise = 1.4
        #expect(try rig.largestError(fit.solve().calibration) < 1)
    }

    @Test func refusesImplausibleErrors() {
        var weak = MagneticRig(seed: 6, softIron: 0.02)
        weak.place.strength = 15
        let shielded = MagneticFit(weak.readings(.everywhere, 601))
        #expect { try shielded.solve() } throws: { error in
            guard case .implausibleStrength(let strength) = error as? MagneticFitError else { return false }
            return abs(strength - 15) < 2
        }
        var bent = MagneticRig(seed: 6, softIron: 0.45)
        let distorted = MagneticFit(bent.readings(.everywhere, 601))
        #expect { try distorted.solve() } throws: { error in
            guard case .implausibleSoftIron(let element) = error as? MagneticFitError else { return false }
            return element > 0.3
        }
    }

    // MARK: Axes

    /// An AK8963 whose axes are taken for those of its gyroscope: x and y are swapped, z is reversed.
    @Test(arguments: [MagneticRig.Movement.everywhere, .tilting(degrees: 60), .tilting(degrees: 30)])
    func findsOtherAxes(movement: MagneticRig.Movement) {
        let axes = Matrix3(Vector3(0, 1, 0), Vector3(1, 0, 0), Vector3(0, 0, -1))
        for seed in 1...20 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            let readings = rig.readings(movement, 401).map { reading in
                MagneticRig.Reading(field: axes.transposed * reading.field, attitude: reading.attitude)
            }
            #expect(throws: MagneticFitError.wrongAxes(axes)) { try MagneticFit(readings).solve() }
        }
    }

    /// Each of the rotations by right angles is found.
    @Test func findsAllRightAngledRotations() {
        var found: [Matrix3] = []
        var rig = MagneticRig(seed: 8)
        let readings = rig.readings(.everywhere, 401)
        for first in BodySide.allCases.map(\.direction) {
            for second in BodySide.allCases.map(\.direction) where first.dot(second) == 0 {
                let axes = Matrix3(first, second, first.cross(second))
                let fit = MagneticFit(readings.map { .init(field: axes.transposed * $0.field, attitude: $0.attitude) })
                if axes == .identity {
                    #expect(throws: Never.self) { try fit.solve() }
                } else {
                    #expect(throws: MagneticFitError.wrongAxes(axes)) { try fit.solve() }
                }
                found.append(axes)
            }
        }
        #expect(found.count == 24)
    }

    /// A flat movement does not show the axes, and is not taken as evidence about them.
    @Test func saysNothingAboutAxesOfFlatMovement() {
        for seed in 1...20 as ClosedRange<UInt64> {
            var rig = MagneticRig(seed: seed)
            let fit = MagneticFit(rig.readings(.tilting(degrees: 3), 401))
            #expect { try fit.solve() } throws: { error in
                guard case .notTurnedEnough = error as? MagneticFitError else {
                    print(error)
                    return false
                }
                return true
            }
        }
    }
}
