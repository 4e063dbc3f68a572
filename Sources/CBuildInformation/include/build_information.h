// What is known of the build of the program. The only target that depends on the commit: after a commit, its one C file
// is compiled again and the program is linked again, and nothing else.
#ifndef JOSTLE_BUILD_INFORMATION_H
#define JOSTLE_BUILD_INFORMATION_H

// The abbreviated commit, with a + if the tree had other changes. Empty if it is not known.
const char *jostle_build_commit(void);

#endif
