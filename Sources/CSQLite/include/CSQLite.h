// What SQLite is told before it is used, and the one thing asked of it that GRDB's module has no name for.
#ifndef CSQLITE_H
#define CSQLITE_H

#include <stdint.h>

/// Bytes that SQLite has allocated in this process, by its own count. Zero: it does not count here (sqlite.c).
int64_t bramley_sqlite_memory(void);

#endif
