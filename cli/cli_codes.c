// Counts the codes of a quantised layer.
#include "cli/cli_codes.h"

cli_codes
cli_codes_count(const policy_image *image, uint32_t l)
{
    int end = image->precision == POLICY_INT4 ? POLICY_INT4_CODE_MAX : 127; // greatest code
    size_t count = policy_layer_weights(&image->spec.layers[l]), zero = 0, saturated = 0;
    for (size_t i = 0; i < count; i++) {
        int code = image->codes[l][i];
        zero += code == 0;
        saturated += code == end || code == -end;
    }
    return (cli_codes){(double)zero / (double)count, (double)saturated / (double)count};
}
