// A disk that does not answer: a library to be loaded into a program with LD_PRELOAD.
//
// While the file that $STALLING_DISK_SWITCH names exists, every call that changes or syncs a file under the directory
// $STALLING_DISK waits, as it would for a device that hangs. All other files are as they are.
#ifndef JOSTLE_STALLING_DISK_H
#define JOSTLE_STALLING_DISK_H
#endif
