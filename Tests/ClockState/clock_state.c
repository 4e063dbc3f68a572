// Replaces the C library's adjtimex: see clock_state.h.
#include "clock_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

int adjtimex(struct timex *state) {
    const char *wanted = getenv("CLOCK_STATE");
    memset(state, 0, sizeof *state);
    if (wanted && strcmp(wanted, "synchronised") == 0) return TIME_OK;
    state->status = STA_UNSYNC;
    return TIME_ERROR;
}
