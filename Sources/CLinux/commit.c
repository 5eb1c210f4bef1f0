#include "CLinux.h"

// Package.swift gives it, from the environment of the build.
#ifndef SOURCE_COMMIT
#define SOURCE_COMMIT unknown
#endif

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

const char *bramley_source_commit(void) {
    return TEXT(SOURCE_COMMIT);
}
