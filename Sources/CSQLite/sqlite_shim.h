// SQLite's C interface.
#ifndef JOSTLE_SQLITE_SHIM_H
#define JOSTLE_SQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_TRANSIENT, a cast of -1 to a function pointer, does not import; it makes SQLite copy bound values. An empty
// Swift string may have a null address, which SQLite would bind as null.
static inline int jostle_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}

static inline int jostle_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                      : sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
