// Writes hashes.csv, and cuts it to the turn that a resumed run continues from.
#include "learner/learner_hashes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define HEADER         "turn,updates,env_steps,weights,replay\n"
#define NUMBER_BYTES   sizeof("18446744073709551615,")
#define LINE_MAX_BYTES (3 * NUMBER_BYTES + 2 * WIRE_HASH_TEXT_BYTES)

// Returns the length of the header and the complete rows up to turn. 0: there is no header. Below
// 0: the file cannot be read.
static off_t
rows_until(FILE *file, uint64_t turn)
{
    char line[LINE_MAX_BYTES];
    off_t kept = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        size_t length = strlen(line);
        uint64_t row = 0;
        bool is_kept = kept == 0 ? strcmp(line, HEADER) == 0
                                 : sscanf(line, "%" SCNu64 ",", &row) == 1 && row <= turn;
        if (!is_kept || line[length - 1] != '\n') {
            break;
        }
        kept += (off_t)length;
    }
    return ferror(file) ? -1 : kept;
}

static oct_err
cut(FILE *file, off_t length)
{
    bool is_cut = ftruncate(fileno(file), length) == 0 && fdatasync(fileno(file)) == 0;
    return is_cut ? OCT_OK : OCT_EIO;
}

oct_err
learner_hashes_begin(const char *path, uint64_t turn)
{
    FILE *file = turn > 0 ? oct_file_stream(path, "r+") : NULL;
    if (file == NULL && turn > 0 && errno != ENOENT) {
        return OCT_EIO;
    }
    off_t kept = file != NULL ? rows_until(file, turn) : 0;
    oct_err err = kept > 0 ? cut(file, kept) : OCT_EIO;
    if (file != NULL) {
        int code = errno;
        (void)fclose(file);
        errno = code;
    }
    return kept == 0 ? oct_file_write(path, HEADER, sizeof(HEADER) - 1) : err;
}

oct_err
learner_hashes_add(const char *path, const learner_hashes_row *row)
{
    char weights[WIRE_HASH_TEXT_BYTES], replay[WIRE_HASH_TEXT_BYTES];
    char text[LINE_MAX_BYTES];
    wire_hash_text(row->weights, weights);
    wire_hash_text(row->replay, replay);
    int length = snprintf(text, sizeof(text), "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s\n",
                          row->turn, row->updates, row->env_steps, weights, replay);
    struct stat before;
    int fd = oct_file_open(path, O_WRONLY | O_APPEND | O_CREAT, 0666, NULL);
    if (fd < 0) {
        return OCT_EIO;
    }
    bool is_known = fstat(fd, &before) == 0;
    oct_err err = is_known ? oct_file_write_all(fd, text, (size_t)length) : OCT_EIO;
    if (err == OCT_OK && fdatasync(fd) != 0) { // must be on disk before the checkpoint of this turn
        err = OCT_EIO;
    }
    int code = errno;
    if (is_known && err != OCT_OK) {
        (void)!ftruncate(fd, before.st_size); // else a resumed run does
    }
    (void)close(fd);
    errno = code;
    return err;
}
