/// The address of the project, which programs, packages and pages show.
package enum Project {
    /// Empty while there is none. Only `Scripts/set-address` writes this line, together with the texts that name the address.
    private static let text = ""

    /// The address; `nil` while there is none.
    package static var address: String? { text.isEmpty ? nil : text }
}
