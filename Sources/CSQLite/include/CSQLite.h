// What SQLite is told before it is used, and how a test sees that it was.
#ifndef CSQLITE_H
#define CSQLITE_H

#include <stdint.h>

/// Bytes that SQLite has allocated in this process, by its own count. Zero: it does not count here (sqlite.c).
int64_t bramley_sqlite_memory(void);

#endif
