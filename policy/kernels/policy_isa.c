// Chooses the table of kernels: the one that the caller requests; otherwise the one that OCTET_ISA
// names; otherwise the fastest one that this CPU supports.
#include "policy/kernels/policy_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// The tables of this build, the fastest first.
static const policy_kernels *const tables[] = {
#if defined(POLICY_HAS_X86_KERNELS)
    &policy_kernels_vnni,
    &policy_kernels_avxvnni,
    &policy_kernels_avx2,
#elif defined(POLICY_HAS_ARM_KERNELS)
    &policy_kernels_neon,
#endif
    &policy_kernels_ref,
};

static const char *const names[] = {
    [POLICY_ISA_BEST] = "best", [POLICY_ISA_REF] = "ref",         [POLICY_ISA_AVX2] = "avx2",
    [POLICY_ISA_VNNI] = "vnni", [POLICY_ISA_AVXVNNI] = "avxvnni", [POLICY_ISA_NEON] = "neon",
};

const char *
policy_isa_name(policy_isa isa)
{
    return (size_t)isa < OCT_COUNTOF(names) ? names[isa] : "unknown";
}

// Reads OCTET_ISA; unset or empty means POLICY_ISA_BEST. OCT_EINVAL: it is not the name of an
// instruction set.
static oct_err
isa_from_environment(policy_isa *out)
{
    const char *asked = getenv("OCTET_ISA");
    if (asked == NULL || asked[0] == '\0') {
        *out = POLICY_ISA_BEST;
        return OCT_OK;
    }
    for (size_t i = POLICY_ISA_REF; i < OCT_COUNTOF(names); i++) {
        if (strcmp(asked, names[i]) == 0) {
            *out = (policy_isa)i;
            return OCT_OK;
        }
    }
    return OCT_EINVAL;
}

oct_err
policy_kernels_choose(const policy_kernels **out, policy_isa isa)
{
    if (isa == POLICY_ISA_BEST) {
        OCT_TRY(isa_from_environment(&isa));
    }
    for (size_t i = 0; i < OCT_COUNTOF(tables); i++) {
        bool is_asked = isa == POLICY_ISA_BEST || isa == tables[i]->isa;
        if (is_asked && tables[i]->is_supported()) {
            *out = tables[i];
            return OCT_OK;
        }
    }
    return OCT_ENOTFOUND;
}

policy_isa_reason
policy_isa_refused(void)
{
    policy_isa_reason reason;
    const char *asked = getenv("OCTET_ISA");
    int used = snprintf(reason.text, sizeof(reason.text), "OCTET_ISA is '%.32s'; allowed here are ",
                        asked == NULL ? "" : asked);
    for (size_t i = 0; i < OCT_COUNTOF(tables); i++) {
        if (tables[i]->is_supported()) {
            used += snprintf(reason.text + used, sizeof(reason.text) - (size_t)used, "%s, ",
                             policy_isa_name(tables[i]->isa));
        }
    }
    (void)snprintf(reason.text + used, sizeof(reason.text) - (size_t)used, "or unset");
    return reason;
}
