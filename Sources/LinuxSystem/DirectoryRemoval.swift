internal import Glibc

extension FileContents {
    /// Deletes a directory with everything in it, as far as that is possible: opendir(3), unlink(2), rmdir(2). A
    /// symbolic link is deleted and not followed.
    package static func removeDirectory(_ path: String) {
        guard let directory = opendir(path) else { return }
        var names: [(name: String, isDirectory: Bool)] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0 else { continue }
            names.append((name, status.st_mode & S_IFMT == S_IFDIR))
        }
        closedir(directory)
        for (name, isDirectory) in names {
            if isDirectory { removeDirectory("\(path)/\(name)") } else { unlink("\(path)/\(name)") }
        }
        rmdir(path)
    }
}
