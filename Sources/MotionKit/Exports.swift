// One import is enough for a program: the types that MotionKit's own declarations name come from these modules. What is not
// meant for programs is declared `package` there and stays hidden.
@_exported public import IMUDrivers
@_exported public import LinuxSensors
@_exported public import LinuxSystem
@_exported public import MotionCore
