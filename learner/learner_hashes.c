// Writes hashes.csv, and cuts it to what a resumed run goes on from.
#include "learner/learner_hashes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define BYTES_MAX ((size_t)1 << 30)
#define HEADER    "turn,updates,env_steps,weights,replay\n"

// The bytes of text that are the header and whole rows up to turn.
static size_t
rows_until(const char *text, size_t length, uint64_t turn)
{
    size_t kept = sizeof(HEADER) - 1;
    if (length < kept || memcmp(text, HEADER, kept) != 0) {
        return 0;
    }
    for (;;) {
        const char *end = memchr(text + kept, '\n', length - kept);
        uint64_t row = 0;
        if (end == NULL || sscanf(text + kept, "%" SCNu64 ",", &row) != 1 || row > turn) {
            return kept;
        }
        kept = (size_t)(end - text) + 1;
    }
}

oct_err
learner_hashes_begin(const char *path, uint64_t turn)
{
    uint8_t *text = NULL;
    size_t length = 0, kept = 0;
    if (turn > 0 && oct_file_read(path, BYTES_MAX, &text, &length) == OCT_OK) {
        kept = rows_until((const char *)text, length, turn);
    }
    oct_err err = kept > 0 ? oct_file_write(path, text, kept)
                           : oct_file_write(path, HEADER, sizeof(HEADER) - 1);
    free(text);
    return err;
}

oct_err
learner_hashes_add(const char *path, const learner_hashes_row *row)
{
    char weights[WIRE_HASH_TEXT_BYTES], replay[WIRE_HASH_TEXT_BYTES];
    wire_hash_text(row->weights, weights);
    wire_hash_text(row->replay, replay);
    FILE *file = fopen(path, "ae");
    if (file == NULL) {
        return OCT_EIO;
    }
    bool is_written = fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s\n", row->turn,
                              row->updates, row->env_steps, weights, replay) > 0;
    // The checkpoint of this turn comes next: what goes on from it keeps the row.
    is_written = fflush(file) == 0 && fdatasync(fileno(file)) == 0 && is_written;
    is_written = fclose(file) == 0 && is_written;
    return is_written ? OCT_OK : OCT_EIO;
}
