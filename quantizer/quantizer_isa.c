// Lists the tables of loops over rows and chooses the fastest one that this CPU supports.
#include "quantizer/quantizer_rows.h"

const quantizer_rows *const quantizer_rows_all[] = {
    &quantizer_rows_base,
#ifdef QUANTIZER_HAS_X86_ROWS
    &quantizer_rows_avx2,
    &quantizer_rows_avx512,
#endif
    NULL,
};

const quantizer_rows *
quantizer_rows_best(void)
{
    const quantizer_rows *best = &quantizer_rows_base;
    for (const quantizer_rows *const *rows = quantizer_rows_all; *rows != NULL; rows++) {
        best = (*rows)->is_supported() ? *rows : best;
    }
    return best;
}
