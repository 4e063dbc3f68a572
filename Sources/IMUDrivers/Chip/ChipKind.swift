/// Says which of the chips with one identity a driver is for: no register tells them apart, so the user does.
package protocol ChipKind: Sendable {
    static var family: IMUFamily { get }
}
