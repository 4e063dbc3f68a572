/// The program's version: semantic versioning. CONTRIBUTING.md lists what counts as
/// its interface under "Compatibility".
let version = "0.1.0"
