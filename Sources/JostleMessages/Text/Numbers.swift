internal import JostleConfiguration

extension Double {
    /// The number as text, with at most this many decimals.
    package func rounded(to decimals: Int) -> String { NumberText.decimal(self, decimals) }
}

extension Duration {
    /// The duration in seconds.
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
