// SQLite's own header, and what of it Swift cannot call. What SQLite is told before main (sqlite.c) takes effect by being
// linked in.
#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

/// A text in double quotes that names no column is an error, not a string: sqlite3_db_config(3) takes varying arguments.
static inline void bramley_refuse_quoted_strings(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
}

#endif
