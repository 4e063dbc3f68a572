/// Standard gravity, m/s² (exact by definition: CGPM 1901).
package let standardGravity = 9.80665

/// Radians in a degree.
package let radiansPerDegree = Double.pi / 180

/// Degrees in a radian.
package let degreesPerRadian = 180 / Double.pi
