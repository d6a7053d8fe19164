#include "support/make_gzip.h"

#include <stdint.h>
#include <zlib.h>

#include "support/expect.h"

size_t make_gzip(const char *text, size_t len, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    EXPECT_I64(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (unsigned)len;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    EXPECT_I64(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}
