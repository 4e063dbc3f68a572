internal import CMotionMath

/// Cuts acceleration into windows of one to two seconds, at any sample rate, and measures the vibration in each.
///
/// Most samples are only stored. Work is done at the end of a window. Samples are treated as evenly spaced within a
/// window, whose true length follows from their timestamps; missing ones are interpolated. Above 800 Hz, groups of
/// samples are averaged first, and what averaging removes or falsifies is measured in a short piece of each window.
struct VibrationWindow: ~Copyable {
    /// The measurements of a window.
    struct Reading {
        /// Its length, s.
        var seconds = 0.0
        /// The distance of its mean acceleration from that of the previous window, m/s².
        var shift = 0.0
        /// RMS from the lowest wanted frequency to half the sample rate, without the sensor's noise, m/s²; 0 if it is
        /// clearly below the limit.
        var level = 0.0
        /// RMS below 2.5 Hz, m/s²: the frequencies at which people move.
        var slow = 0.0
        /// The share of the window that vibrates: all of it for a running machine, little after a blow.
        var share = 0.0
        /// The power in each of the bands of `VibrationBands`, m²/s⁴, with the sensor's noise.
        var bands = SIMD16<Float>.zero
        /// Mean square of the acceleration, m²/s⁴, and of the velocity, m²/s², from 10 Hz to the frequencies of `highest`.
        var acceleration = 0.0
        var velocity = 0.0
        /// The smallest change from one sample to the next on any axis, m/s²: hardly less than a count of the sensor.
        var step: Float = 0
        /// The largest magnitude of the acceleration without its mean, m/s², and the kurtosis on the strongest axis.
        var peak = 0.0
        var kurtosis = 0.0
        /// The strongest line above 8.3 Hz: its frequency, Hz, its mean square, m²/s⁴, and its share of that band.
        var lineFrequency = 0.0
        var line = 0.0
        var lineShare = 0.0
    }

    /// Below this frequency, Hz, it is movement.
    private static let movement = 2.5
    /// The number of parts of a window that are judged separately.
    private static let parts = 8
    /// Shares of the wanted level at which a transform is worthwhile and at which a part of a window vibrates. A part
    /// must also reach this share of the whole window's level.
    private static let worthwhile = 0.7
    private static let partOfLimit = 0.5
    private static let partOfLevel = 0.4
    /// The largest ratio of the squared peak to the mean square of a part: 2 for a sine, up to 10 for noise, 20 for a
    /// blow.
    private static let peakiness: Float = 12
    /// The largest part of a flat spectrum that may be sensor noise, m/s²: 400 µg/√Hz (PS-MPU-6000A-00 r3.4, 6.2) on
    /// three axes over 260 Hz are 0.11; worse sensors have 0.3. Below 50 samples a second the spectrum of a machine
    /// also looks flat, since all its harmonics are aliased into a few hertz.
    static let slowNoise = 0.11
    private static let quickNoise = 0.3
    private static let pieceLength = 256
    /// Where the bands of acceleration and velocity begin, Hz (ISO 20816-1), and where a line may begin: people move below.
    static let lowest = 10.0
    private static let lowestLine = 8.3
    /// How much stronger than the mean a line must be to be one.
    private static let standsOut: Float = 2

    private let samples = FixedBuffer(repeating: SIMD4<Float>.zero, count: VibrationSpectrum.capacity)
    private let partSquares = FixedBuffer<Float>(repeating: 0, count: VibrationWindow.parts)
    /// The correction of each bin's power for averaging, and the power summed over the windows that were kept.
    private let corrections = FixedBuffer<Float>(repeating: 1, count: VibrationSpectrum.capacity / 2)
    private let sums = FixedBuffer<Float>(repeating: 0, count: VibrationSpectrum.capacity / 2)
    /// The power summed over the windows since `beginSpectrum`, and the seconds of them.
    private let recent = FixedBuffer<Float>(repeating: 0, count: VibrationSpectrum.capacity / 2)
    private var recentSeconds = 0.0
    /// The first samples of a window, if groups of them are averaged, and their number.
    private let piece = FixedBuffer(repeating: SIMD4<Float>.zero, count: VibrationWindow.pieceLength)
    private var pieceCount = 0
    private var spectrum = VibrationSpectrum()

    /// Samples in a window, 0 while the sample rate is being measured, and the number of samples averaged into one.
    private var size = 0
    private var group = 1
    /// The sample period, s, and the width of a bin, Hz.
    private var period = 0.0
    private var binWidth = 0.0
    /// The window so far: its stored samples, those received and those missing, and its length, s.
    private var count = 0
    private var received = 0
    private var missing = 0
    private var elapsed = 0.0
    /// The sum of a group, in which the weight of a sample rises over a group and falls over the next one, and the rising
    /// part of that of the next group; whether there was a group before.
    private var groupSum = Vector3.zero
    private var nextSum = Vector3.zero
    private var groupCount = 0
    private var hasGroup = false
    private var last = Vector3.zero
    private var lastMean = Vector3.zero
    private var hasMean = false
    /// Whether the last window was transformed, so that it can be kept.
    private var isTransformed = false

    /// The frequencies at which the bands of acceleration and velocity end at a sample rate, Hz. Up to 1 kHz they are what an
    /// MPU-6050 passes; of faster sensors, what ISO 20816-1 measures.
    static func highest(rate: Double) -> (acceleration: Double, velocity: Double) {
        let usable = VibrationBands.usable * rate
        let isFast = rate > 1200
        return (min(isFast ? 1000 : 400, usable), min(isFast ? 1000 : 260, usable))
    }

    /// Resets to the initial state.
    mutating func reset() {
        size = 0
        hasMean = false
        isTransformed = false
        hasGroup = false
        beginWindow()
        forgetKept()
    }

    /// The mean acceleration of the last window, m/s².
    var meanForce: SIMD4<Float> { SIMD4(Float(lastMean.x), Float(lastMean.y), Float(lastMean.z), 0) }

    /// Samples a second; 0 before the first window.
    var rate: Double { size > 0 ? 1 / period : 0 }

    private mutating func beginWindow() {
        count = 0
        pieceCount = 0
        received = 0
        missing = 0
        elapsed = 0
        groupCount = 0
    }
}

// MARK: - Filling

extension VibrationWindow {
    /// Adds the acceleration of a sample, m/s², measured `interval` seconds after the previous one. Returns true if it
    /// completes a window, which must then be read.
    mutating func add(_ acceleration: Vector3, interval: Double) -> Bool {
        elapsed += interval
        received += 1
        guard size > 0 else {
            last = acceleration
            // A second is enough to measure the rate and choose a window.
            if elapsed >= 1, received > 8 { plan() }
            return false
        }
        if interval > 1.6 * period { bridge(to: acceleration, interval: interval) }
        last = acceleration
        if group > 1, pieceCount < VibrationWindow.pieceLength {
            piece[pieceCount] = SIMD4(Float(acceleration.x), Float(acceleration.y), Float(acceleration.z), 0)
            pieceCount += 1
        }
        store(acceleration)
        return count == size
    }

    private mutating func store(_ acceleration: Vector3) {
        var mean = acceleration
        if group > 1 {
            let all = Double(group)
            // As if the acceleration had been the same before.
            if !hasGroup, groupCount == 0 { groupSum = 0.5 * all * acceleration }
            let weight = (Double(groupCount) + 0.5) / all
            nextSum += weight * acceleration
            groupSum += (1 - weight) * acceleration
            groupCount += 1
            guard groupCount == group else { return }
            mean = groupSum * (1 / all)
            groupSum = nextSum
            nextSum = .zero
            groupCount = 0
            hasGroup = true
        }
        samples[count] = SIMD4(Float(mean.x), Float(mean.y), Float(mean.z), 0)
        count += 1
    }

    /// Interpolates the samples that are missing before `acceleration`, as far as they belong to the window.
    private mutating func bridge(to acceleration: Vector3, interval: Double) {
        if pieceCount < VibrationWindow.pieceLength { pieceCount = 0 }
        let gaps = Int((interval / period).rounded())
        let room = (size - count) * group - groupCount - 1
        guard gaps > 1, room > 0 else { return }
        let from = last
        for index in 1...min(gaps - 1, room) {
            missing += 1
            store(from + (acceleration - from) * (Double(index) / Double(gaps)))
        }
    }

    /// Chooses the window for the measured sample rate.
    private mutating func plan() {
        period = elapsed / Double(received)
        let rate = 1 / period
        group = max(1, Int(rate / 400 + 0.01))
        let pointRate = rate / Double(group)
        size = pointRate < 30 ? 32 : pointRate < 60 ? 64 : pointRate < 120 ? 128 : pointRate < 240 ? 256 : 512
        let width = pointRate / Double(size)
        if abs(width - binWidth) > 0.1 * width {
            forgetKept()
            beginSpectrum()
        }
        binWidth = width
        for bin in 1..<(size / 2) {
            let phase = .pi * Double(bin) / Double(size)
            let gain = sin(phase) / (Double(group) * sin(phase / Double(group)))
            corrections[bin] = Float(1 / (gain * gain * gain * gain))
        }
        nextSum = .zero
        hasGroup = false
        beginWindow()
    }

    /// Begins the next window; measures the rate again if it no longer fits the window.
    private mutating func advance() {
        let measured = elapsed / Double(received + missing)
        if abs(measured - period) > 0.2 * period || missing > received {
            size = 0
            hasMean = false
        } else {
            period = measured
            binWidth = 1 / (measured * Double(size * group))
        }
        beginWindow()
    }
}

// MARK: - Reading

extension VibrationWindow {
    /// Measures the complete window and begins the next one. `limit` (m/s²) is the wanted level, below which only the bands
    /// are measured; `lowest` (Hz) is the lowest wanted frequency. `measures` says whether a machine runs, whose acceleration,
    /// velocity and lines are wanted.
    mutating func read(limit: Double, lowest: Double, measures: Bool) -> Reading {
        var reading = Reading()
        reading.seconds = elapsed
        let mean = self.mean()
        let meanForce = Vector3(Double(mean.x), Double(mean.y), Double(mean.z))
        if hasMean { reading.shift = (meanForce - lastMean).length }
        lastMean = meanForce
        hasMean = true
        let square = divide(around: mean)
        let length = size
        let hasPiece = pieceCount == VibrationWindow.pieceLength
        let rate = self.rate
        advance()
        isTransformed = false
        guard size > 0 else { return reading }

        let half = length / 2
        reading.step = smallestStep(of: length)
        if hasPiece { measurePiece(&reading, rate: rate) }
        spectrum.transform(samples.base, count: length, mean: mean)
        if group > 1 {
            for bin in 1..<half { spectrum.power[bin] *= corrections[bin] }
        } else {
            measureShape(&reading, samples.base, count: length, mean: mean)
        }
        isTransformed = true
        measureBands(&reading, rate: rate, half: half)
        if measures { measureMachine(&reading, rate: rate, half: half) }
        let worthwhile = VibrationWindow.worthwhile * limit
        guard square >= worthwhile * worthwhile else { return reading }
        let slowEnd = bin(above: VibrationWindow.movement, of: half)
        reading.slow = sum(1, slowEnd).squareRoot()
        let first = bin(above: lowest, of: half)
        guard first < half else { return reading }
        let noise = noisePerBin(first, half)
        reading.level = max(0, sum(first, half) - noise * Double(half - first)).squareRoot()
        reading.share = share(of: length, around: mean, limit: limit, level: reading.level, noise: noise * Double(half))
        return reading
    }

    /// Adds the window read last to the spectrum of `frequency`.
    mutating func keep() {
        guard isTransformed else { return }
        for bin in 1..<(size / 2) { sums[bin] += spectrum.power[bin] }
    }

    /// Resets the sum of spectra.
    mutating func forgetKept() {
        for bin in 0..<(VibrationSpectrum.capacity / 2) { sums[bin] = 0 }
    }

    /// The frequency with the most power in the windows that were kept, Hz; `nil` if there was none.
    func frequency(lowest: Double) -> Double? {
        let half = size / 2
        let first = max(2, bin(above: lowest, of: half))
        guard first < half - 1 else { return nil }
        var best = 0
        var most: Float = 0
        for bin in first..<(half - 1) {
            let around = sums[bin - 1] + sums[bin] + sums[bin + 1]
            if around > most {
                most = around
                best = bin
            }
        }
        guard best > 0 else { return nil }
        if sums[best - 1] > sums[best] { best -= 1 } else if sums[best + 1] > sums[best] { best += 1 }
        // Between two bins a von Hann window splits a sine's amplitude in the ratio (1 + d) to (2 - d).
        let before = Double(sums[best - 1]).squareRoot()
        let peak = Double(sums[best]).squareRoot()
        let after = best + 1 < half ? Double(sums[best + 1]).squareRoot() : 0
        let ratio = max(before, after) / peak
        let offset = max(0, min(0.5, (2 * ratio - 1) / (1 + ratio)))
        return (Double(best) + (after > before ? offset : -offset)) * binWidth
    }

    /// Begins another sum of spectra, that of `lines`.
    mutating func beginSpectrum() {
        for bin in 0..<(VibrationSpectrum.capacity / 2) { recent[bin] = 0 }
        recentSeconds = 0
    }

    /// The strongest lines since `beginSpectrum`, strongest first: their frequencies, Hz, and RMS, m/s². What is left is 0.
    func lines() -> (frequencies: SIMD4<Float>, levels: SIMD4<Float>) {
        var frequencies = SIMD4<Float>.zero
        var levels = SIMD4<Float>.zero
        let half = size / 2
        let first = max(2, bin(above: VibrationBands.lowest, of: half))
        guard recentSeconds > 0, first < half - 1 else { return (frequencies, levels) }
        for bin in first..<(half - 1) where recent[bin] > recent[bin - 1] && recent[bin] >= recent[bin + 1] {
            let around = recent[bin - 1] + recent[bin] + recent[bin + 1]
            let level = (around / Float(recentSeconds)).squareRoot()
            guard level > levels[2] else { continue }
            var place = 2
            while place > 0, level > levels[place - 1] {
                levels[place] = levels[place - 1]
                frequencies[place] = frequencies[place - 1]
                place -= 1
            }
            levels[place] = level
            frequencies[place] = Float(frequency(at: bin))
        }
        return (frequencies, levels)
    }

    /// The strongest line since `beginSpectrum` within a fifth of `frequency`, Hz; `nil` if nothing stands out there.
    func line(near frequency: Double) -> Double? {
        let half = size / 2
        let first = max(1, bin(above: 0.8 * frequency, of: half))
        let end = min(half - 1, Int(1.2 * frequency / binWidth) + 1)
        guard recentSeconds > 0, end - first >= 3 else { return nil }
        var best = first
        var sum: Float = 0
        for bin in first..<end {
            sum += recent[bin]
            if recent[bin] > recent[best] { best = bin }
        }
        let around = recent[best - 1] + recent[best] + recent[best + 1]
        guard around * Float(end - first) > VibrationWindow.standsOut * 3 * sum else { return nil }
        return self.frequency(at: best)
    }

    /// The frequency of a line whose strongest bin this is: the middle of its power, because a line between two bins leads to
    /// neither.
    private func frequency(at bin: Int) -> Double {
        let around = recent[bin - 1] + recent[bin] + recent[bin + 1]
        return (Double(bin) + Double((recent[bin + 1] - recent[bin - 1]) / around)) * binWidth
    }

    /// Measures what the averages of groups of samples do not show: the highest bands, and the shape.
    private mutating func measurePiece(_ reading: inout Reading, rate: Double) {
        let length = VibrationWindow.pieceLength
        var sum = SIMD4<Float>.zero
        for index in 0..<length { sum += piece[index] }
        let mean = sum * (1 / Float(length))
        measureShape(&reading, piece.base, count: length, mean: mean)
        spectrum.transform(piece.base, count: length, mean: mean)
        let width = rate / Double(length)
        let first = VibrationBands.firstOfPiece(rate: rate, group: group)
        for band in first..<VibrationBands.count {
            let bins = VibrationBands.bins(of: band, width: width, rate: rate)
            reading.bands[band] = Float(self.sum(bins.lowerBound, bins.upperBound))
        }
        let start = Int((VibrationBands.edge(first) / width).rounded(.up))
        let highest = VibrationWindow.highest(rate: rate)
        reading.acceleration = self.sum(start, Int(highest.acceleration / width))
        reading.velocity = velocity(start, Int(highest.velocity / width), width: width)
    }

    /// The smallest change between two samples; infinite if nothing changes.
    private func smallestStep(of length: Int) -> Float {
        var smallest = SIMD4<Float>(repeating: .infinity)
        for index in 1..<length {
            let change = samples[index] - samples[index - 1]
            let size = change.replacing(with: -change, where: change .< 0)
            smallest.replace(with: size, where: (size .< smallest) .& (size .> 0))
        }
        return smallest.min()
    }

    /// Measures how far and how abruptly the acceleration deviates from its mean.
    private func measureShape(
        _ reading: inout Reading, _ values: UnsafePointer<SIMD4<Float>>, count: Int, mean: SIMD4<Float>
    ) {
        var squares = SIMD4<Float>.zero
        var fourths = SIMD4<Float>.zero
        var largest: Float = 0
        for index in 0..<count {
            let value = values[index] - mean
            let square = value * value
            squares += square
            fourths += square * square
            largest = max(largest, square.x + square.y + square.z)
        }
        reading.peak = Double(largest.squareRoot())
        var axis = 0
        if squares.y > squares[axis] { axis = 1 }
        if squares.z > squares[axis] { axis = 2 }
        if squares[axis] > 0 {
            reading.kurtosis = Double(Float(count) * fourths[axis] / (squares[axis] * squares[axis]))
        }
    }

    /// Measures the bands and the strongest line of the spectrum.
    private mutating func measureBands(_ reading: inout Reading, rate: Double, half: Int) {
        let pointRate = rate / Double(group)
        for band in 0..<VibrationBands.firstOfPiece(rate: rate, group: group) {
            let bins = VibrationBands.bins(of: band, width: binWidth, rate: pointRate)
            reading.bands[band] = Float(sum(bins.lowerBound, min(half, bins.upperBound)))
        }
        measureLine(&reading, from: bin(above: VibrationWindow.lowestLine, of: half), to: half)
    }

    /// Measures what is published of a machine that runs, and adds the window to the spectrum of its lines.
    private mutating func measureMachine(_ reading: inout Reading, rate: Double, half: Int) {
        for bin in 1..<half { recent[bin] += spectrum.power[bin] * Float(reading.seconds) }
        recentSeconds += reading.seconds
        let highest = VibrationWindow.highest(rate: rate)
        let first = bin(above: VibrationWindow.lowest, of: half)
        // The rest is in the piece.
        let edge = VibrationBands.edge(VibrationBands.firstOfPiece(rate: rate, group: group))
        reading.acceleration += sum(first, bin(above: min(edge, highest.acceleration), of: half))
        reading.velocity += velocity(first, bin(above: min(edge, highest.velocity), of: half), width: binWidth)
    }

    /// The mean square of the velocity in some bins, m²/s².
    private func velocity(_ first: Int, _ end: Int, width: Double) -> Double {
        guard first < end else { return 0 }
        let scale = Float(2 * .pi * width)
        var sum: Float = 0
        for bin in first..<end {
            let angular = scale * Float(bin)
            sum += spectrum.power[bin] / (angular * angular)
        }
        return Double(sum)
    }

    private func measureLine(_ reading: inout Reading, from first: Int, to end: Int) {
        guard first + 3 < end else { return }
        var best = 0
        var most: Float = 0
        var total = spectrum.power[first]
        for bin in (first + 1)..<(end - 1) {
            let around = spectrum.power[bin - 1] + spectrum.power[bin] + spectrum.power[bin + 1]
            total += spectrum.power[bin]
            if around > most {
                most = around
                best = bin
            }
        }
        guard total > 0 else { return }
        reading.lineFrequency = Double(best) * binWidth
        reading.line = Double(most)
        reading.lineShare = Double(most / total)
    }

    private func mean() -> SIMD4<Float> {
        let first = samples[0]
        var sum = SIMD4<Float>.zero
        for index in 0..<size { sum += samples[index] - first }
        return first + sum * (1 / Float(size))
    }

    /// Computes the mean square of each part about its own mean, and returns that of the window.
    private func divide(around mean: SIMD4<Float>) -> Double {
        let length = size / VibrationWindow.parts
        let scale = 1 / Float(length)
        var total: Float = 0
        for part in 0..<VibrationWindow.parts {
            var sum = SIMD4<Float>.zero
            var squares = SIMD4<Float>.zero
            for index in (part * length)..<((part + 1) * length) {
                let value = samples[index] - mean
                sum += value
                squares += value * value
            }
            let square = (squares.x + squares.y + squares.z) * scale
            sum *= scale
            let own = sum * sum
            partSquares[part] = square - (own.x + own.y + own.z)
            total += square
        }
        return Double(total) / Double(VibrationWindow.parts)
    }

    /// The first bin not below `frequency`.
    private func bin(above frequency: Double, of half: Int) -> Int {
        min(half, max(1, Int(min(1e6, frequency / binWidth).rounded(.up))))
    }

    private func sum(_ first: Int, _ end: Int) -> Double {
        guard first < end else { return 0 }
        var sum: Float = 0
        for bin in first..<end { sum += spectrum.power[bin] }
        return Double(sum)
    }

    /// The power of the sensor's noise per bin: what is left of the spectrum when everything above it is cut off.
    private func noisePerBin(_ first: Int, _ end: Int) -> Double {
        var mean = Float(sum(first, end)) / Float(end - first)
        for _ in 0..<4 {
            let limit = 2 * mean
            var sum: Float = 0
            var count: Float = 0
            for bin in first..<end where spectrum.power[bin] < limit {
                sum += spectrum.power[bin]
                count += 1
            }
            if count > 0 { mean = sum / count }
        }
        // The cut also removes an eighth of the noise itself, for three axes.
        let most = binWidth * Double(2 * end) < 50 ? VibrationWindow.slowNoise : VibrationWindow.quickNoise
        return min(Double(mean) / 0.87, most * most / Double(end))
    }

    /// The share of the parts that vibrate, strongly enough and not only in a blow.
    private func share(
        of length: Int, around mean: SIMD4<Float>, limit: Double, level: Double, noise: Double
    ) -> Double {
        let needed = max(VibrationWindow.partOfLimit * limit, VibrationWindow.partOfLevel * level)
        let within = 1 - 1 / Double(VibrationWindow.parts)
        let threshold = Float(needed * needed + noise * within)
        let size = length / VibrationWindow.parts
        var count = 0.0
        for part in 0..<VibrationWindow.parts where partSquares[part] >= threshold {
            var peaks = SIMD4<Float>.zero
            for index in (part * size)..<((part + 1) * size) {
                let value = samples[index] - mean
                let square = value * value
                peaks.replace(with: square, where: square .> peaks)
            }
            if peaks.x + peaks.y + peaks.z <= VibrationWindow.peakiness * partSquares[part] { count += 1 }
        }
        return count / Double(VibrationWindow.parts)
    }
}

/// The power spectrum of a window of acceleration, summed over the three axes.
///
/// The axes are transformed side by side in the lanes of a SIMD vector. A window of N real values is treated as N/2
/// complex ones, transformed by decimation in time, and separated again (Press et al., Numerical Recipes, 12.3).
struct VibrationSpectrum: ~Copyable {
    /// The longest window.
    static let capacity = 512

    private let work = FixedBuffer(repeating: SIMD4<Float>.zero, count: VibrationSpectrum.capacity)
    /// cos and sin of 2πk/512 in the first half turn.
    private let cosines = FixedBuffer<Float>(count: VibrationSpectrum.capacity / 2)
    private let sines = FixedBuffer<Float>(count: VibrationSpectrum.capacity / 2)

    /// The power in each bin, m²/s⁴, up to half the window's length; the frequency of bin k is k times the sample rate
    /// over the length. The sum is the mean square of the acceleration without its mean.
    let power = FixedBuffer<Float>(repeating: 0, count: VibrationSpectrum.capacity / 2)

    init() {
        let half = VibrationSpectrum.capacity / 2
        for k in 0..<half {
            let angle = .pi * Double(k) / Double(half)
            cosines[k] = Float(cos(angle))
            sines[k] = Float(sin(angle))
        }
    }

    /// Computes `power` from `count` values, a power of two from 8 to 512, after subtracting their `mean`.
    mutating func transform(_ values: UnsafePointer<SIMD4<Float>>, count: Int, mean: SIMD4<Float>) {
        load(values, count: count, mean: mean)
        let half = count / 2
        var length = 1
        while length < half {
            merge(length: length, of: half)
            length *= 2
        }
        separate(count: count)
    }

    /// Applies a von Hann window and stores the values in bit-reversed order, pairs as real and imaginary part.
    private func load(_ values: UnsafePointer<SIMD4<Float>>, count: Int, mean: SIMD4<Float>) {
        let half = count / 2
        let quarter = half / 2
        let stride = VibrationSpectrum.capacity / count
        var reversed = 0
        for pair in 0..<half {
            let index = 2 * pair
            // The second half of the window is the first with the sign of the cosine reversed.
            let isLate = index >= half
            let at = (isLate ? index - half : index) * stride
            let sign: Float = isLate ? 0.5 : -0.5
            work[2 * reversed] = (values[index] - mean) * (0.5 + sign * cosines[at])
            work[2 * reversed + 1] = (values[index + 1] - mean) * (0.5 + sign * cosines[at + stride])
            var bit = quarter
            while bit > 0, reversed & bit != 0 {
                reversed ^= bit
                bit >>= 1
            }
            reversed |= bit
        }
    }

    /// Merges transforms of `length` into transforms of twice that length.
    private func merge(length: Int, of half: Int) {
        let stride = VibrationSpectrum.capacity / (2 * length)
        for k in 0..<length {
            let c = cosines[k * stride]
            let s = sines[k * stride]
            var even = k
            while even < half {
                let odd = even + length
                let re = work[2 * odd]
                let im = work[2 * odd + 1]
                let turnedRe = re * c + im * s
                let turnedIm = im * c - re * s
                let evenRe = work[2 * even]
                let evenIm = work[2 * even + 1]
                work[2 * odd] = evenRe - turnedRe
                work[2 * odd + 1] = evenIm - turnedIm
                work[2 * even] = evenRe + turnedRe
                work[2 * even + 1] = evenIm + turnedIm
                even += 2 * length
            }
        }
    }

    /// Separates the transform of the pairs into that of the single values, and computes the power.
    private func separate(count: Int) {
        let half = count / 2
        let stride = VibrationSpectrum.capacity / count
        // A von Hann window passes 3/8 of the power; half of what remains is at negative frequencies.
        let scale = 2 / (0.375 * Float(count) * Float(count))
        power[0] = 0
        for k in 1...(half / 2) {
            let mirrored = half - k
            let sumRe = (work[2 * k] + work[2 * mirrored]) * 0.5
            let sumIm = (work[2 * k + 1] - work[2 * mirrored + 1]) * 0.5
            let oddRe = (work[2 * k + 1] + work[2 * mirrored + 1]) * 0.5
            let oddIm = (work[2 * mirrored] - work[2 * k]) * 0.5
            let c = cosines[k * stride]
            let s = sines[k * stride]
            let turnedRe = oddRe * c + oddIm * s
            let turnedIm = oddIm * c - oddRe * s
            power[k] = scale * VibrationSpectrum.square(sumRe + turnedRe, sumIm + turnedIm)
            power[mirrored] = scale * VibrationSpectrum.square(sumRe - turnedRe, sumIm - turnedIm)
        }
    }

    private static func square(_ re: SIMD4<Float>, _ im: SIMD4<Float>) -> Float {
        let squares = re * re + im * im
        return squares.x + squares.y + squares.z
    }
}
