/// Decides how often a driver repeats a transaction that failed.
struct TransactionRetries: BitwiseCopyable {
    /// Whether the last transaction timed out, also when it was repeated.
    private(set) var isBusStuck = false

    /// Records a transaction that succeeded.
    mutating func noteSuccess() { isBusStuck = false }

    /// Counts the attempt if the transaction is to be repeated; otherwise throws its error.
    mutating func giveUpOrRepeat(_ error: BusError, after attempt: inout Int) throws(BusError) {
        let attempts: Int
        switch error.kind {
        case .notAcknowledged, .arbitrationLost, .inputOutput:
            attempts = 3
        case .timedOut:
            // An adapter takes up to a second to give up: a bus that stays stuck gets one attempt.
            attempts = isBusStuck ? 1 : 2
            isBusStuck = attempt >= attempts
        default:
            attempts = 1
        }
        guard attempt < attempts else { throw error }
        attempt += 1
    }
}

/// Transactions that may be repeated after any failure that may pass. Every failed attempt is counted.
extension RegisterBus where Self: ~Copyable {
    /// Writes one byte to `register`.
    mutating func write(
        _ register: UInt8, _ value: UInt8, _ retries: inout TransactionRetries, counting errors: inout BusErrorCounts
    ) throws(BusError) {
        var attempt = 1
        while true {
            do {
                try write(register, value)
                retries.noteSuccess()
                return
            } catch {
                errors.count(error)
                try retries.giveUpOrRepeat(error, after: &attempt)
            }
        }
    }

    /// Reads `buffer.count` bytes, starting at `register`.
    mutating func read(
        _ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ retries: inout TransactionRetries,
        counting errors: inout BusErrorCounts
    ) throws(BusError) {
        var attempt = 1
        while true {
            do {
                try read(register, into: buffer)
                retries.noteSuccess()
                return
            } catch {
                errors.count(error)
                try retries.giveUpOrRepeat(error, after: &attempt)
            }
        }
    }
}
