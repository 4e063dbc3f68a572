internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Settling and streaming: reads the FIFO.
    mutating func readFIFO(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        if fifo.progress.parsed > 0 { return try deliverWaiting(into: &batch) }
        fifo.progress.reads &+= 1
        var fill: FIFOFill
        var verdict: FIFOVerdict
        do {
            let now = clock.now()
            if fifo.thermometer.isDue(at: now) { try readTemperature(at: now) }
            let checked = health.isDue(at: now) ? try checkHealth(at: now) : nil
            fill = if let checked { checked } else { try readFill() }
            verdict = judge(fill)
            if case .unclear = verdict {
                fill = try readFill()
                verdict = judge(fill, isRepeated: true)
            }
        } catch {
            return try wait(for: error)
        }
        switch verdict {
        case .usable: break
        case .unclear: return IMUPoll(next: fill.after.advanced(bySeconds: StreamLimits.partialFramePause))
        case .failed(let fault): return try interrupt(fault)
        }
        guard fill.frames > 0 else {
            try checkForStall(at: fill.after)
            return IMUPoll(next: fifo.nextRead(from: clock.now()))
        }
        fifo.progress.noteFrames(at: fill.after)
        return try take(fill, into: &batch)
    }

    /// After a bus failure, schedules another read soon while the FIFO can still hold the data; otherwise throws.
    private func wait(for fault: IMUFault, after event: SensorEvent = .none) throws(IMUFault) -> IMUPoll {
        guard case .bus(let error) = fault, !error.isLasting, fifo.mayWaitForBus(at: clock.now()) else { throw fault }
        return pollSoon(after: event)
    }

    /// Schedules another read while the FIFO can still hold the data.
    private func pollSoon(after event: SensorEvent) -> IMUPoll {
        IMUPoll(next: fifo.soon(after: clock.now()), event: event)
    }

    private mutating func judge(_ fill: FIFOFill, isRepeated: Bool = false) -> FIFOVerdict {
        if Line.isWired { fifo.matcher.gather(&line) }
        return fifo.judge(fill, isRepeated: isRepeated)
    }

    private mutating func readFill() throws(IMUFault) -> FIFOFill {
        do {
            return try readFillOnce()
        } catch {
            throw .bus(error)
        }
    }

    private mutating func readFillOnce() throws(BusError) -> FIFOFill {
        let before = clock.now()
        try access.readGroup(fifo.layout.count, on: &bus)
        return fill(UnsafeRawBufferPointer(access.buffer.registers), from: before)
    }

    /// Reads the FIFO's count in one transaction with other registers, which come first; `nil` if the bus cannot.
    mutating func readFill(with registers: ChipRegisters) -> FIFOFill? {
        guard access.mayJoin(.group) else { return nil }
        let before = clock.now()
        guard access.readGroup(registers, with: fifo.layout.count, on: &bus) else { return nil }
        return fill(UnsafeRawBufferPointer(access.buffer.second), from: before)
    }

    /// A count that has been read since `before`.
    private func fill(_ registers: UnsafeRawBufferPointer, from before: Timestamp) -> FIFOFill {
        FIFOFill(
            bytes: part.fill(registers), frameLength: fifo.layout.frameLength, before: before, after: clock.now())
    }

    /// Reads the frames in transactions of whole frames, as long as the bus allows, and delivers those that pass the
    /// checks.
    private mutating func take(_ counted: FIFOFill, into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        var fill = counted
        var event = fifo.releaseHeldFrames(thatLeaveNoRoomIn: &batch)
        let wanted = min(fill.frames, batch.capacity - batch.count - fifo.deliverableHeldFrames)
        // A late host reads in small bursts, so that each burst makes room before the next frames arrive.
        let mostAtOnce = fill.frames > fifo.layout.longestBatch ? fifo.layout.mostFrames / 8 : fifo.layout.mostFrames
        let atOnce = max(
            1, min(min(bus.maximumReadLength, fifo.layout.longestRead) / fifo.layout.frameLength, mostAtOnce))
        var done = 0
        while done < wanted {
            fifo.progress.hasRightRanges = false
            let frames = min(wanted - done, atOnce)
            let bytes = frames * fifo.layout.frameLength
            do {
                guard try readFrames(bytes: bytes, of: &fill, after: done * fifo.layout.frameLength) else {
                    return pollSoon(after: event)
                }
            } catch {
                // What has not been consumed is still there.
                if error.hasConsumedNothing || !fifo.mayWaitForBus(at: clock.now()) {
                    return try wait(for: .bus(error), after: event)
                }
                return try deliverAndInterrupt(.bus(error), after: event, into: &batch)
            }
            if let fault = parse(frames, of: fill, after: done * fifo.layout.frameLength) {
                return try deliverAndInterrupt(fault, after: event, into: &batch)
            }
            done += frames
        }
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        // Frames that did not fit into the batch are read immediately, unless the batch had no room at all.
        let isMoreWaiting = wanted < fill.frames && wanted > 0
        return fifo.endBatch(
            capacity: batch.capacity, isMoreWaiting: isMoreWaiting, event: event, at: clock.now())
    }

    /// Parses `count` frames of those that `fill` counted, read after `taken` bytes of them, and adds them to those in the
    /// buffer. Returns what has failed if not all of them are valid.
    private mutating func parse(_ count: Int, of fill: FIFOFill, after taken: Int) -> IMUFault? {
        let now = clock.now()
        let first = fifo.progress.parsed
        let frames = UnsafeMutableBufferPointer(rebasing: access.buffer.frames[first..<first + count])
        if part.parse(UnsafeRawBufferPointer(access.buffer.bytes), into: frames) { fifo.progress.mayFollowReset = true }
        return fifo.accept(count, in: access.buffer.frames, of: fill, after: taken, by: now)
    }

    /// Reads frames of those that `fill` counted, after `taken` bytes of them. If the transaction fails, the count is read
    /// again: it is repeated while the count shows that nothing was consumed. Returns whether it succeeded in the end; if
    /// not, all frames are still there.
    ///
    /// - Throws: the failure after which some frames may be gone, or of a transaction that did not reach the chip.
    private mutating func readFrames(bytes: Int, of fill: inout FIFOFill, after taken: Int) throws(BusError) -> Bool {
        for attempt in 0..<StreamLimits.readAttempts {
            do {
                // If the two fail together, they are read apart.
                if attempt == 0, taken == 0, try readRangesAndFrames(bytes: bytes) { return true }
                try access.readFrames(bytes: bytes, from: fifo.layout.data, on: &bus)
                return true
            } catch {
                guard !error.hasConsumedNothing, fifo.mayWaitForBus(at: clock.now()),
                    let again = countAgain(fill, after: taken)
                else {
                    throw error
                }
                fifo.progress.lastAnswer = again.after
                fill = again
            }
        }
        return false
    }

    /// Reads the first frames in one transaction with the ranges, if the bus can and they are in one place. Returns whether
    /// it did.
    ///
    /// The ranges are those of the frames, because these have been measured before. But a chip that loses its power during
    /// the transaction sends nothing from then on: if the last byte looks like that, the ranges are read again.
    private mutating func readRangesAndFrames(bytes: Int) throws(BusError) -> Bool {
        guard access.mayJoin(.frames), plan.registers.rangeCount == 1 else { return false }
        let run = plan.registers.range(0)
        guard try access.readFrames(bytes: bytes, from: fifo.layout.data, after: run, on: &bus) else { return false }
        let registers = UnsafeRawBufferPointer(access.buffer.registers)
        let last = access.buffer.bytes[bytes - 1]
        fifo.progress.hasRightRanges =
            last != 0 && last != 0xFF && plan.registers.changedRegister(in: run, reading: registers) == nil
        return true
    }

    /// The count after a failed transaction, including the bytes read before; `nil` if it cannot be read, or if some frames
    /// were consumed.
    private mutating func countAgain(_ fill: FIFOFill, after taken: Int) -> FIFOFill? {
        do {
            var again = try readFillOnce()
            guard again.bytes <= fifo.layout.size else { return nil }
            again.bytes += taken
            return fifo.hasAll(again, of: fill) ? again : nil
        } catch {
            return nil
        }
    }

    /// Delivers the frames in the buffer if the registers that they depend on are right: those with the ranges, or all if
    /// a chip that was reset could have sent the frames. Registers that are right now were right at the measurement.
    private mutating func deliverParsed(
        into batch: inout SampleBatch, event: inout SensorEvent
    ) throws(IMUFault) {
        let frames = fifo.progress.parsed
        guard frames > 0 else { return }
        if fifo.progress.mayFollowReset {
            try access.checkAll(of: plan.registers, on: &bus)
        } else if !fifo.progress.hasRightRanges {
            try access.checkAll(rangesOnly: true, of: plan.registers, on: &bus)
        }
        fifo.progress.forgetParsed()
        let change = try fifo.deliver(frames, of: access.buffer.frames, into: &batch)
        if change != .none { event = change }
    }

    /// Delivers the frames in the buffer, which a failure of the bus has kept from being delivered at once.
    private mutating func deliverWaiting(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        var event = fifo.releaseHeldFrames(thatLeaveNoRoomIn: &batch)
        guard batch.capacity - batch.count - fifo.deliverableHeldFrames >= fifo.progress.parsed else {
            return IMUPoll(next: fifo.nextRead(from: clock.now()), event: event)
        }
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            return try wait(for: error, after: event)
        }
        fifo.progress.lastAnswer = clock.now()
        return IMUPoll(next: clock.now(), event: event)
    }

    /// Delivers the frames in the buffer, and restarts the FIFO.
    private mutating func deliverAndInterrupt(
        _ fault: IMUFault, after event: SensorEvent, into batch: inout SampleBatch
    ) throws(IMUFault) -> IMUPoll {
        var event = event
        do {
            try deliverParsed(into: &batch, event: &event)
        } catch {
            // Frames whose registers cannot be read are discarded with the FIFO.
            guard case .bus = error else { throw error }
        }
        return try interrupt(fault, after: event)
    }
}
