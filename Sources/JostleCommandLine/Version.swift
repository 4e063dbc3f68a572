/// The program's version: semantic versioning. CONTRIBUTING.md lists what counts as
/// its interface under "Compatibility". The packages and the tarball of a release get their version from this line.
package let version = "0.1.0"
