#include "build_information.h"

// `git archive` replaces this, so that a build from a release tarball knows its commit too: see .gitattributes.
static const char archived[] = "$Format:%h$";

// Package.swift defines JOSTLE_COMMIT: what the Makefile has from git, or nothing.
const char *jostle_build_commit(void) {
    if (JOSTLE_COMMIT[0] != '\0') return JOSTLE_COMMIT;
    return archived[0] == '$' ? "" : archived;
}
