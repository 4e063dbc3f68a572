internal import Glibc
internal import LinuxSystem
package import MotionKit

/// Files that are installed beside the program.
package enum InstalledFiles {
    /// Where a file of /usr/share/jostle may be: beside the program that runs, installed or in the tree that it was built in.
    package static func candidates(_ name: String, inTree path: String) -> [String] {
        guard let program = realPath("/proc/self/exe") else { return [] }
        var parts = program.split(separator: "/").dropLast()
        var candidates = ["/" + (parts.dropLast() + ["share", "jostle", name[...]]).joined(separator: "/")]
        for _ in 0..<4 where !parts.isEmpty {
            parts = parts.dropLast()
            candidates.append("/" + (parts + [path[...]]).joined(separator: "/"))
        }
        return candidates
    }
}

extension EverydayMovement {
    /// The everyday movement that comes with the program; `nil`, and a line for `report`, if it is not installed.
    ///
    /// - Throws: status 65 if the file is damaged.
    package static func installed(_ report: (String) -> Void) throws -> EverydayMovement? {
        for path in InstalledFiles.candidates("everyday-movement", inTree: "deploy/learn/everyday-movement") {
            guard access(path, R_OK) == 0 else { continue }
            guard let movement = try EverydayMovement(path: path) else {
                throw Failure(.badData, "\(path): no everyday movement, or damaged: install the package again")
            }
            return movement
        }
        report("everyday-movement is not installed: how near everyday movement comes is not known")
        return nil
    }
}
