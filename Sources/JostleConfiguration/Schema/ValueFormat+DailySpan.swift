extension ValueFormat<DailySpan> {
    /// A daily period, `22:00-07:00`.
    static var dailySpan: ValueFormat {
        ValueFormat(
            allowed: "a time of day from 00:00 to 24:00 such as 22:00-07:00", wantsExample: false,
            constraints: [
                .init("type", "string"), .init("pattern", "^ *[0-9]{1,2}:[0-9]{2} *- *[0-9]{1,2}:[0-9]{2} *$"),
            ],
            read: { node, _ throws(ValueRefusal) in
                guard let span = DailySpan(try node.scalarText()) else {
                    throw ValueRefusal("is not a period such as 22:00-07:00")
                }
                return span
            },
            write: { .string($0.text) })
    }
}
