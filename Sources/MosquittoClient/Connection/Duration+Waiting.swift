extension Duration {
    /// As a timeout for `poll`: whole milliseconds, rounded up, at least zero and at most an hour.
    var pollMilliseconds: Int32 {
        let clamped = min(max(self, .zero), .seconds(3600))
        let (seconds, attoseconds) = clamped.components
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Whole seconds, rounded down and clamped to 32 bits.
    var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
