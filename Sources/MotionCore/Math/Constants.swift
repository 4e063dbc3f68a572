/// Standard gravity, m/s² (exact by definition: CGPM 1901).
public let standardGravity = 9.80665

/// Radians in a degree.
public let radiansPerDegree = Double.pi / 180

/// Degrees in a radian.
public let degreesPerRadian = 180 / Double.pi
