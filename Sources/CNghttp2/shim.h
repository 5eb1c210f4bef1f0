#ifndef BRAMLEY_CNGHTTP2_H
#define BRAMLEY_CNGHTTP2_H

#include <nghttp2/nghttp2.h>

#endif
