/// The program's version, by semantic versioning. Its interface is listed under "Compatibility" in CONTRIBUTING.md.
let version = "0.1.0"
