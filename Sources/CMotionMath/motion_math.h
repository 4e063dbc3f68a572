// The few libm functions that the motion core needs. Declaring them here means that the core imports neither Glibc nor
// Foundation and also compiles for boards without an operating system.
#ifndef MOTION_MATH_H
#define MOTION_MATH_H

double sin(double);
double cos(double);
double tan(double);
double asin(double);
double acos(double);
double atan2(double, double);
double exp(double);
double log(double);
double pow(double, double);
double fmod(double, double);

#endif
