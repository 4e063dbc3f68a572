/// Suggests the word that the user probably meant.
package enum EditDistance {
    /// The candidate nearest to `word`, or `nil` if none is near enough.
    ///
    /// At most a third of the letters may differ. A candidate also matches if it begins with `word` or `word` begins
    /// with it.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        let letters = Array(word.lowercased())
        // Longer than any key, so not a typing error; computing the distance would take too long.
        guard letters.count <= 64 else { return nil }
        var best: (distance: Int, candidate: String)?
        for candidate in candidates {
            let distance = between(letters, Array(candidate))
            if distance < best?.distance ?? Int.max { best = (distance, candidate) }
        }
        guard let best else { return nil }
        if best.distance <= max(1, letters.count / 3) { return best.candidate }
        return candidates.first { letters.count >= 3 && ($0.hasPrefix(word) || word.hasPrefix($0)) }
    }

    /// `; did you mean "watch"?` for the end of a sentence about an unknown word; empty if no candidate is near enough.
    package static func suggestion(for word: String, among candidates: [String]) -> String {
        nearest(to: word, among: candidates).map { "; did you mean \"\($0)\"?" } ?? ""
    }

    /// The number of insertions, deletions, substitutions and transpositions of adjacent letters (Damerau 1964, optimal
    /// string alignment: no part is edited twice).
    static func between(_ a: [Character], _ b: [Character]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...b.count)
        for i in a.indices {
            var current = [i + 1]
            for j in b.indices {
                let cost = a[i] == b[j] ? 0 : 1
                var distance = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    distance = min(distance, beforePrevious[j - 1] + 1)
                }
                current.append(distance)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[b.count]
    }
}
