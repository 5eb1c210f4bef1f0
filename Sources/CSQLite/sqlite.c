#include "CSQLite.h"
#include <sqlite3.h>

// Unless told not to, SQLite counts each allocation under a lock of the whole process, and Debian's is built without the
// lookaside that would spare most of them: of inserting a row with its indexes, a twelfth of the instructions
// (https://sqlite.org/malloc.html, SQLITE_CONFIG_MEMSTATUS). Nothing here asks for the counts, nor limits the heap by
// them. Before main, since the library takes it only as long as it has not been used, and no other thread may use it.
__attribute__((constructor)) static void bramley_stop_counting_memory(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
