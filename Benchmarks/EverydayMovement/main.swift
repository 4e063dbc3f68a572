// usage: everyday-movement OUTPUT RECORDING…
//
// Packs what moves in recordings of everyday life, for `jostle learn`. The activity is the recording's name after the first _.
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

let words = CommandLine.arguments
guard words.count > 2 else { throw Failure(.usage, "usage: everyday-movement OUTPUT RECORDING…") }
var movement = EverydayMovement()
for path in words.dropFirst(2) {
    let name = path.split(separator: "/").last?.split(separator: ".").first ?? ""
    let activity = name.split(separator: "_").dropFirst().joined(separator: " ")
    let reader = try ExampleReader.read(path, MotionSettings(), keepsFrames: true)
    movement.add(reader.frames, activity: activity)
}
try FileContents.replace(words[1], with: movement.bytes)
print("\(movement.stretches.count) stretches, \(movement.bytes.count) bytes")
