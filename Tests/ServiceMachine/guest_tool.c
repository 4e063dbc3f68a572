// What Scripts/test-service needs in its virtual machine and no package offers.
//
// guest_tool hold TID      stops one thread of another process, and nothing else of it, until it is killed
// guest_tool synchronise   makes the kernel report that a time service keeps the clock
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

static int hold(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0) {
        perror("ptrace");
        return 1;
    }
    // The tracer's end would let the thread go on.
    waitpid(thread, NULL, __WALL);
    puts("held");
    fflush(stdout);
    for (;;) pause();
}

static int synchronise(void) {
    struct timex state = {.modes = ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR, .status = STA_PLL, .maxerror = 1000};
    if (adjtimex(&state) < 0) {
        perror("adjtimex");
        return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "hold") == 0) return hold(atoi(words[2]));
    if (count == 2 && strcmp(words[1], "synchronise") == 0) return synchronise();
    return 64;
}
