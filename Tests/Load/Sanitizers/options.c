// The sanitizer's options, for every program that is built with one. Not by the environment: a server that a test starts
// is given an environment of its own, and its reports would go where the test looks for the server's words.
// scripts/sanitize.sh says what the options are; TSAN_OPTIONS and ASAN_OPTIONS come on top.
const char *__tsan_default_options(void);
const char *__asan_default_options(void);

const char *__tsan_default_options(void) { return OPTIONS; }
const char *__asan_default_options(void) { return OPTIONS; }

// All empty arrays of Swift are this one object of libswiftCore.so, which never changes. An append(addingCapacity:) or
// Array(unsafeUninitializedCapacity:) that asks for nothing and gets nothing writes the count all the same: 0 over 0.
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:^_swiftEmptyArrayStorage$\n"; }

// A template is a tree of indirect enumeration cases. Swift marks the case in the pointer's high bits, so the sanitizer
// does not see that the tree, kept for the life of the process, points to its nodes.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:TemplateParser\n"; }
