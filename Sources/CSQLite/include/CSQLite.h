// Nothing to call: what SQLite is told before main (sqlite.c) takes effect by being linked in.
#ifndef CSQLITE_H
#define CSQLITE_H
#endif
