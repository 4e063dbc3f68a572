// Decides whether the clock of the machine counts as synchronised: a library to load into a program with LD_PRELOAD.
//
// adjtimex answers that it is if $CLOCK_STATE is "synchronised", and otherwise that it is not. It sets nothing.
#ifndef JOSTLE_CLOCK_STATE_H
#define JOSTLE_CLOCK_STATE_H
#endif
