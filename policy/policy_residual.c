#include "policy/policy_residual.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/oct_base.h"

// The first byte.
#define MODE_RAW  0
#define MODE_ZSTD 1

#define LEVEL 1

struct policy_residual_coder {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
};

policy_residual_coder *
policy_residual_coder_create(size_t weights_max)
{
    (void)weights_max;
    policy_residual_coder *coder = oct_alloc(sizeof(*coder));
    coder->compress = ZSTD_createCCtx();
    coder->decompress = ZSTD_createDCtx();
    OCT_ASSERT(coder->compress != NULL && coder->decompress != NULL);
    return coder;
}

void
policy_residual_coder_destroy(policy_residual_coder *coder)
{
    if (coder != NULL) {
        (void)ZSTD_freeCCtx(coder->compress);
        (void)ZSTD_freeDCtx(coder->decompress);
        free(coder);
    }
}

size_t
policy_residual_bound(uint32_t rows, uint32_t columns)
{
    return (size_t)rows * columns + 1;
}

size_t
policy_residual_encode(policy_residual_coder *coder, const int8_t *residual, uint32_t rows,
                       uint32_t columns, uint8_t *out, size_t capacity)
{
    size_t count = (size_t)rows * columns;
    if (capacity == 0) {
        return 0;
    }
    size_t room = OCT_MIN(capacity - 1, count);
    size_t length = ZSTD_compressCCtx(coder->compress, out + 1, room, residual, count, LEVEL);
    if (!ZSTD_isError(length) && length < count) {
        out[0] = MODE_ZSTD;
        return 1 + length;
    }
    if (capacity - 1 < count) {
        return 0;
    }
    out[0] = MODE_RAW;
    memcpy(out + 1, residual, count);
    return 1 + count;
}

oct_err
policy_residual_decode(policy_residual_coder *coder, int8_t *residual, uint32_t rows,
                       uint32_t columns, const uint8_t *bytes, size_t length)
{
    size_t count = (size_t)rows * columns;
    if (length == 0) {
        return OCT_EPROTO;
    }
    if (bytes[0] == MODE_RAW && length == 1 + count) {
        memcpy(residual, bytes + 1, count);
        return OCT_OK;
    }
    if (bytes[0] != MODE_ZSTD) {
        return OCT_EPROTO;
    }
    size_t got = ZSTD_decompressDCtx(coder->decompress, residual, count, bytes + 1, length - 1);
    return !ZSTD_isError(got) && got == count ? OCT_OK : OCT_EPROTO;
}
