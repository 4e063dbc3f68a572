#if !hasFeature(Embedded)
    /// A gesture that somebody has shown, as it is kept in a file: its examples, and how like them a movement must be.
    public struct GestureTemplate: Equatable, Sendable {
        public let name: GestureName

        /// The score below which a movement is the gesture.
        public var threshold: Double { gesture.threshold }

        /// The number of examples.
        public var exampleCount: Int { gesture.examples.count }

        package let gesture: LearnedGesture

        /// Why a text is no template.
        public enum Failure: Error, Equatable, CustomStringConvertible {
            /// A later version of Jostle wrote it.
            case version(String)
            /// It is incomplete, was changed, or has a line that is no part of a template.
            case damaged(line: Int)
            /// Its name cannot be that of a gesture.
            case name(String)

            public var description: String {
                switch self {
                case .version(let version): "written by a later version of Jostle: jostle gesture \(version)"
                case .damaged(let line): "line \(line): no part of a gesture, or changed since jostle learn wrote it"
                case .name(let name): "\(name) is no name for a gesture: \(GestureTemplate.nameRule)"
                }
            }
        }

        /// What a name may be, for messages.
        package static let nameRule = "1 to 32 of a-z, 0-9 and _, beginning with a letter"

        package init(name: GestureName, _ gesture: LearnedGesture) {
            self.name = name
            self.gesture = gesture
        }

        // MARK: Text

        private static let title = "jostle gesture "
        /// The most bytes.
        package static let mostBytes = 1 << 16

        /// Whether a text begins as that of a template does.
        package static func isText(_ text: String) -> Bool { text.hasPrefix(title) }

        private static let version = "1"

        /// The text: a title with the version, the name, the threshold, a line of numbers for each example, and a checksum of all
        /// that.
        public var text: String {
            var lines = [
                GestureTemplate.title + GestureTemplate.version,
                "# examples: 25 frames a second, each linear acceleration in 5/64 m/s² and rotation rate in 3/64 rad/s, x y z",
                "name \(name)", "threshold \(threshold)",
            ]
            for example in gesture.examples {
                lines.append("example " + example.flatMap(\.encoded).map { "\($0)" }.joined(separator: " "))
            }
            lines.append("checksum \(GestureTemplate.checksum(lines))")
            return lines.joined(separator: "\n") + "\n"
        }

        /// The checksum of the lines before it. Not private, so that invented texts can have one.
        package static func checksum(_ lines: some Sequence<some StringProtocol>) -> String {
            var checksum = Checksum()
            for line in lines {
                for byte in line.utf8 { checksum.add(byte: byte) }
                checksum.add(byte: UInt8(ascii: "\n"))
            }
            return String(checksum.state, radix: 16)
        }

        /// Reads a text.
        public init(_ text: String) throws(Failure) {
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            guard let first = lines.first, first.hasPrefix(GestureTemplate.title) else { throw .damaged(line: 1) }
            let version = first.dropFirst(GestureTemplate.title.count)
            guard version == GestureTemplate.version else { throw .version(String(version.prefix(20))) }
            guard lines.count > 3, lines.removeLast().isEmpty,
                lines.removeLast() == "checksum \(GestureTemplate.checksum(lines))"
            else { throw .damaged(line: lines.count + 1) }
            var name = ""
            var gesture = LearnedGesture(examples: [], threshold: 0)
            for (index, line) in lines.enumerated().dropFirst() where !line.hasPrefix("#") {
                let parts = line.split(separator: " ", maxSplits: 1)
                guard parts.count == 2 else { throw .damaged(line: index + 1) }
                switch parts[0] {
                case "name": name = String(parts[1])
                case "threshold":
                    guard let threshold = Double(parts[1]), threshold > 0, threshold < 10 else {
                        throw .damaged(line: index + 1)
                    }
                    gesture.threshold = threshold
                case "example":
                    guard let example = GestureTemplate.example(parts[1]) else { throw .damaged(line: index + 1) }
                    gesture.examples.append(example)
                default: throw .damaged(line: index + 1)
                }
            }
            guard let name = GestureName(name) else { throw .name(name) }
            guard gesture.threshold > 0, LearnedGesture.counts.contains(gesture.examples.count) else {
                throw .damaged(line: 1)
            }
            self.init(name: name, gesture)
        }

        private static func example(_ text: Substring) -> [MotionFrame]? {
            var numbers: [Int16] = []
            for word in text.split(separator: " ", omittingEmptySubsequences: false) {
                guard let number = Int16(word) else { return nil }
                numbers.append(number)
            }
            guard numbers.count % 6 == 0, LearnedGesture.lengths.contains(numbers.count / 6) else { return nil }
            return stride(from: 0, to: numbers.count, by: 6).map { MotionFrame(encoded: numbers[$0..<$0 + 6]) }
        }
    }

    extension LearnedGestureSettings {
        /// A gesture that is recognised as usual.
        package init(_ template: GestureTemplate) { self.init(name: template.name, template.gesture) }
    }
#endif
