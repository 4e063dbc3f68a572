/// The program's version: semantic versioning. Between releases it is that of the next release with `-dev` after it.
/// CONTRIBUTING.md lists what counts as the program's interface under "Compatibility", and says under "Releases" when this
/// line changes. The packages and the tarball get their version from it: see `Scripts/package-version`.
package let version = "0.2.0-dev"
