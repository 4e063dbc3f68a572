// Simulates a disk that does not answer: a library to load into a program with LD_PRELOAD.
//
// While the file named by $STALLING_DISK_SWITCH exists, every call that changes or syncs a file under the directory
// $STALLING_DISK blocks, as it would on a device that hangs. Other files are unaffected.
#ifndef JOSTLE_STALLING_DISK_H
#define JOSTLE_STALLING_DISK_H
#endif
