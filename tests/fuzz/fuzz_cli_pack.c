// The parts of a pack that are parsed: its manifest, and the header that says how long that is.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pack/cli_pack_manifest.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "tests/fuzz/fuzz.h"

static cli_pack_manifest manifest, again;
static oct_reason reason;

// Whatever unpack puts the name behind, it stays below that folder.
static bool
is_below(const char *name)
{
    static char path[CLI_PACK_NAME_MAX + 3];
    int length = snprintf(path, sizeof(path), "/%s/", name);
    return length > 2 && (size_t)length < sizeof(path) && strstr(path, "/../") == NULL &&
           strstr(path, "/./") == NULL && strstr(path, "//") == NULL;
}

// What is accepted names only what lies below a folder, and prints and parses back to the same.
static void
manifest_run(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    if (cli_pack_manifest_parse(&manifest, text, size, &reason) == OCT_OK) {
        fuzz_accept();
        OCT_ASSERT(manifest.count <= CLI_PACK_FILES_MAX && strchr(manifest.run, '/') == NULL);
        for (uint32_t i = 0; i < manifest.count; i++) {
            const cli_pack_file *file = &manifest.file[i];
            OCT_ASSERT(is_below(file->name) && file->mode <= 0777 &&
                       file->size <= CLI_PACK_SIZE_MAX);
        }
        char *printed = cli_pack_manifest_print(&manifest);
        OCT_ASSERT(cli_pack_manifest_parse(&again, printed, strlen(printed), &reason) == OCT_OK);
        char *twice = cli_pack_manifest_print(&again);
        OCT_ASSERT(strcmp(printed, twice) == 0);
        free(printed);
        free(twice);
    }
    free(text);
}

static void
header_run(const uint8_t *data, size_t size)
{
    uint8_t made[CLI_PACK_BLOCK];
    size_t length = 0;
    if (size == CLI_PACK_BLOCK && cli_pack_header_length(data, &length) == OCT_OK) {
        fuzz_accept();
        OCT_ASSERT(length <= CLI_PACK_MANIFEST_MAX);
        cli_pack_header_of_manifest(length, made);
        OCT_ASSERT(memcmp(made, data, sizeof(made)) == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 2 == 0) {
        manifest_run(data + 1, size - 1);
    } else if (size > 0) {
        header_run(data + 1, size - 1);
    }
    return 0;
}

void
fuzz_seeds(void)
{
    static const char *const names[] = {"config.yaml", "replay.oct", "log/actor-0.log", "..a/b"};
    static const char bad[] = "octet-pack 1\nrun ..\nfiles 0\n";
    uint8_t header[CLI_PACK_BLOCK];
    manifest.count = OCT_COUNTOF(names);
    (void)strncpy(manifest.run, "CartPole-v1-20260131-120000", CLI_PACK_NAME_MAX);
    for (uint32_t i = 0; i < manifest.count; i++) {
        manifest.file[i] = (cli_pack_file){
            .mode = 0600, .size = 1000000 * i, .time_s = 1700000000, .hash = {(uint8_t)i}};
        (void)strncpy(manifest.file[i].name, names[i], CLI_PACK_NAME_MAX);
    }
    char *text = cli_pack_manifest_print(&manifest);
    fuzz_seed_of(0, text, strlen(text), true);
    fuzz_seed_of(0, text, strlen(text) - 1, false);
    fuzz_seed_of(0, bad, strlen(bad), false);
    free(text);
    for (size_t length = 1; length <= CLI_PACK_MANIFEST_MAX; length *= 32) {
        cli_pack_header_of_manifest(length, header);
        fuzz_seed_of(1, header, sizeof(header), true);
        header[124] = '9';
        fuzz_seed_of(1, header, sizeof(header), false);
    }
}
