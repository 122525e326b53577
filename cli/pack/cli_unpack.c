// Unpacks a pack into a run folder: into a draft beside it, compared with the manifest, and then by
// one rename. On any failure the draft and the folders made for it are removed.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pack/cli_pack.h"
#include "cli/pack/cli_pack_manifest.h"
#include "cli/pack/cli_pack_stream.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"

// read at a time; zeros of this size are not written, because the file already has them
#define PIECE_BYTES (64u << 10)
#define PATH_BYTES  OCT_FILE_PATH_MAX

typedef struct unpacking {
    const char *pack; // path of the pack
    cli_pack_reader *reader;
    int folder;                  // descriptor of the draft
    char draft[PATH_BYTES + 64]; // "": there is none
    char parent[PATH_BYTES];     // folder that contains the draft
    uint32_t made;               // folders at the end of parent that did not exist
    cli_pack_manifest manifest;
    oct_reason *why;
    uint8_t piece[PIECE_BYTES];
} unpacking;

#define REFUSE(u, ...) oct_refuse((u)->why, __VA_ARGS__)

// Refuses a pack that ends too early; often it is still being copied.
static oct_err
cut_off(unpacking *u, const char *what)
{
    return REFUSE(u, "%s ends within %s; it is cut off, or still being copied", u->pack, what);
}

// Reads the next bytes of the pack. what: the part that is read, for the error.
static oct_err
take(unpacking *u, void *out, size_t length, const char *what)
{
    oct_err err = cli_pack_read(u->reader, out, length);
    if (err == OCT_ECLOSED) {
        return cut_off(u, what);
    }
    if (err == OCT_EPROTO) {
        return REFUSE(u, "%s is damaged at %s", u->pack, what);
    }
    return err == OCT_OK ? OCT_OK : REFUSE(u, "%s: %s", u->pack, oct_file_strerror(errno));
}

// Reads padding, which must be zeros: a pack has no room for bytes that the manifest does not
// cover.
static oct_err
zeros_take(unpacking *u, size_t length, const char *what)
{
    uint8_t bytes[2 * CLI_PACK_BLOCK];
    static const uint8_t zeros[sizeof(bytes)];
    OCT_TRY(take(u, bytes, length, what));
    return memcmp(bytes, zeros, length) == 0 ? OCT_OK
                                             : REFUSE(u, "%s is damaged after %s", u->pack, what);
}

// Reads the header and the text of the manifest.
static oct_err
manifest_take(unpacking *u)
{
    uint8_t header[CLI_PACK_BLOCK];
    oct_reason why;
    size_t length = 0;
    oct_err err = cli_pack_read(u->reader, header, sizeof(header));
    if (err == OCT_ECLOSED && cli_pack_reader_finish(u->reader) != OCT_OK) {
        // no header was decompressed, because data comes out in large pieces
        return cut_off(u, "its manifest");
    }
    if (err != OCT_OK || cli_pack_header_length(header, &length) != OCT_OK) {
        return REFUSE(u, "%s is not a pack that octet run pack made", u->pack);
    }
    char *text = oct_alloc(length + 1);
    err = take(u, text, length, "its manifest");
    if (err == OCT_OK && cli_pack_manifest_parse(&u->manifest, text, length, &why) != OCT_OK) {
        err = REFUSE(u, "%s: %s", u->pack, why.text);
    }
    free(text);
    return err == OCT_OK ? zeros_take(u, cli_pack_padding(length), "its manifest") : err;
}

// ---- the draft

// Makes the folders above a name, below the draft.
static oct_err
folders_make(unpacking *u, const char *name)
{
    char path[CLI_PACK_NAME_MAX + 1];
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
        if (oct_file_make_one_folder_at(u->folder, path) != 0 && errno != EEXIST) {
            return REFUSE(u, "cannot make folder %s/%s: %s", u->draft, path,
                          oct_file_strerror(errno));
        }
    }
    return OCT_OK;
}

static oct_err
write_failed(unpacking *u, const cli_pack_file *file, int code)
{
    (void)REFUSE(u, "%s cannot be written: %s", file->name, oct_file_strerror(code));
    return OCT_EIO;
}

// Allocates the whole file, so that a full disk is found before any byte is read, and a mapped
// table never meets one. A file system that cannot allocate ahead may report a full disk later.
static oct_err
room_make(unpacking *u, const cli_pack_file *file, int fd)
{
    int code = file->size > 0 ? posix_fallocate(fd, 0, (off_t)file->size) : 0;
    if (code == EOPNOTSUPP || code == EINVAL) {
        code = ftruncate(fd, (off_t)file->size) == 0 ? 0 : errno;
    }
    return code == 0 ? OCT_OK : write_failed(u, file, code);
}

static bool
is_zero(const uint8_t *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

// Reads a file's content and writes it, except zeros. Its hash must be that of the manifest.
static oct_err
content_take(unpacking *u, const cli_pack_file *file, int fd)
{
    uint8_t hash[WIRE_HASH_BYTES];
    wire_hash *sum = wire_hash_begin();
    oct_err err = OCT_OK;
    for (uint64_t at = 0; err == OCT_OK && at < file->size;) {
        size_t length = (size_t)OCT_MIN(file->size - at, (uint64_t)PIECE_BYTES);
        err = take(u, u->piece, length, file->name);
        if (err != OCT_OK) {
            break;
        }
        wire_hash_add(sum, u->piece, length);
        for (size_t done = 0; err == OCT_OK && !is_zero(u->piece, length) && done < length;) {
            ssize_t count = pwrite(fd, u->piece + done, length - done, (off_t)(at + done));
            if (count < 0 && errno != EINTR) {
                err = write_failed(u, file, errno);
            }
            done += count > 0 ? (size_t)count : 0;
        }
        at += length;
    }
    wire_hash_end(sum, hash);
    if (err == OCT_OK && memcmp(hash, file->hash, sizeof(hash)) != 0) {
        err = REFUSE(u, "%s: %s is not what was packed; its SHA-256 differs", u->pack, file->name);
    }
    return err;
}

// Unpacks one file. Its header must be as the manifest implies.
static oct_err
member_take(unpacking *u, const cli_pack_file *file)
{
    uint8_t header[CLI_PACK_BLOCK], expected[CLI_PACK_BLOCK];
    OCT_TRY(take(u, header, sizeof(header), file->name));
    cli_pack_header(file, expected);
    if (memcmp(header, expected, sizeof(header)) != 0) {
        return REFUSE(u, "%s: its next file is not %s, as its manifest says", u->pack, file->name);
    }
    OCT_TRY(folders_make(u, file->name));
    int fd = oct_file_open_at(u->folder, file->name, O_WRONLY | O_CREAT | O_EXCL, 0600, NULL);
    if (fd < 0) {
        return write_failed(u, file, errno);
    }
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)file->time_s}};
    oct_err err = room_make(u, file, fd);
    if (err == OCT_OK) {
        err = content_take(u, file, fd);
    }
    // In a run folder only the owner has permission to write.
    if (err == OCT_OK &&
        (fchmod(fd, file->mode & 0755) != 0 || futimens(fd, times) != 0 || fsync(fd) != 0)) {
        err = write_failed(u, file, errno);
    }
    if (close(fd) != 0 && err == OCT_OK) {
        err = write_failed(u, file, errno);
    }
    return err == OCT_OK ? zeros_take(u, cli_pack_padding(file->size), file->name) : err;
}

// The pack must end with two empty blocks and nothing after them.
static oct_err
end_take(unpacking *u)
{
    OCT_TRY(zeros_take(u, 2 * CLI_PACK_BLOCK, "its last file"));
    oct_err err = cli_pack_reader_finish(u->reader);
    if (err == OCT_ECLOSED) {
        return REFUSE(u, "%s ends too early; it is cut off, or still being copied", u->pack);
    }
    if (err != OCT_OK) {
        return REFUSE(u, "%s continues after its end, or is damaged there", u->pack);
    }
    return OCT_OK;
}

// ---- the whole pack

// Makes the folders above path, and an empty draft beside path.
static oct_err
draft_make(unpacking *u, const char *path)
{
    struct stat status;
    // processes in the current folder would stay in the replaced one
    if (oct_file_is_same(path, ".")) {
        return REFUSE(u,
                      "'%s' is the current folder, which would be replaced; change to another "
                      "folder and name this one with --run-dir",
                      path);
    }
    if (lstat(path, &status) == 0 &&
        (!S_ISDIR(status.st_mode) || !oct_file_is_empty_folder(path))) { // a link is refused
        return REFUSE(
            u, "'%s' already exists and is not an empty folder; name another with --run-dir", path);
    }
    (void)snprintf(u->parent, sizeof(u->parent), "%s", path);
    bool has_parent = oct_file_cut_last(u->parent);
    if (has_parent && oct_file_make_folders(u->parent, &u->made) != OCT_OK) {
        return REFUSE(u, "cannot make folder '%s': %s", u->parent, oct_file_strerror(errno));
    }
    oct_file_confine(has_parent ? u->parent : "."); // no process can replace the draft by a link
    (void)snprintf(u->draft, sizeof(u->draft), "%s.unpack.%ld", path, (long)getpid());
    if (oct_file_make_one_folder(u->draft) != 0) {
        int code = errno;
        char draft[sizeof(u->draft)];
        memcpy(draft, u->draft, sizeof(draft));
        u->draft[0] = '\0';
        return REFUSE(u, "cannot make folder '%s': %s", draft, oct_file_strerror(code));
    }
    u->folder = oct_file_open_folder(u->draft, false);
    return u->folder >= 0 ? OCT_OK
                          : REFUSE(u, "cannot enter '%s': %s", u->draft, oct_file_strerror(errno));
}

// Chooses the folder to unpack into, without slashes at its end.
static oct_err
path_choose(unpacking *u, const char *folder, char *path, size_t path_size)
{
    int length = folder != NULL ? snprintf(path, path_size, "%s", folder)
                                : snprintf(path, path_size, "runs/%s", u->manifest.run);
    while (length > 1 && length < (int)path_size &&
           (path[length - 1] == '/' || strcmp(path + length - 2, "/.") == 0)) {
        path[--length] = '\0';
    }
    if (length <= 0 || (size_t)length >= OCT_MIN(path_size, (size_t)PATH_BYTES)) {
        return REFUSE(u, "not the path of a folder, or too long");
    }
    return OCT_OK;
}

// Marks the folder as unpacked, or removes a file of that name, which a pack may contain.
static oct_err
mark_make(unpacking *u, bool is_trusted)
{
    if (is_trusted) {
        return oct_file_remove_at(u->folder, OCT_OWNER_UNPACKED) == 0 || errno == ENOENT
                   ? OCT_OK
                   : REFUSE(u, "%s/" OCT_OWNER_UNPACKED " cannot be removed: %s", u->draft,
                            oct_file_strerror(errno));
    }
    int fd = oct_file_open_at(u->folder, OCT_OWNER_UNPACKED, O_WRONLY | O_CREAT, 0644, NULL);
    if (fd < 0 || close(fd) != 0) {
        return REFUSE(u, "%s/" OCT_OWNER_UNPACKED " cannot be written: %s", u->draft,
                      oct_file_strerror(errno));
    }
    return OCT_OK;
}

// Does the whole work. On an error cli_unpack removes the draft.
static oct_err
unpack_all(unpacking *u, const char *folder, bool is_trusted, cli_pack_result *result)
{
    const char *path = result->path;
    OCT_TRY(manifest_take(u));
    OCT_TRY(path_choose(u, folder, result->path, sizeof(result->path)));
    OCT_TRY(draft_make(u, path));
    for (uint32_t i = 0; i < u->manifest.count; i++) {
        OCT_TRY(member_take(u, &u->manifest.file[i]));
        result->bytes += u->manifest.file[i].size;
    }
    OCT_TRY(end_take(u));
    OCT_TRY(mark_make(u, is_trusted));
    if (fsync(u->folder) != 0 ||
        oct_file_rename(u->draft, path) != 0) { // also over an empty folder
        return REFUSE(u, "'%s' cannot take the name '%s': %s", u->draft, path,
                      oct_file_strerror(errno));
    }
    u->draft[0] = '\0';
    result->files = u->manifest.count;
    (void)snprintf(result->run, sizeof(result->run), "%s", u->manifest.run);
    return OCT_OK;
}

// The folder appears whole, by one rename, or not at all.
oct_err
cli_unpack(const char *pack, const char *folder, bool is_trusted, cli_pack_result *result,
           oct_reason *why)
{
    struct stat status;
    *result = (cli_pack_result){0};
    int fd = oct_file_open(pack, O_RDONLY, 0, NULL);
    if (fd < 0) {
        return oct_refuse(why, "'%s' cannot be read: %s", pack, oct_file_strerror(errno));
    }
    unpacking *u = oct_alloc(sizeof(*u));
    u->pack = pack;
    u->folder = -1;
    u->why = why;
    u->reader = cli_pack_reader_create(fd);
    if (fstat(fd, &status) == 0) {
        result->packed = (uint64_t)status.st_size;
    }
    oct_err err = unpack_all(u, folder, is_trusted, result);
    if (u->folder >= 0) {
        (void)close(u->folder);
    }
    if (u->draft[0] != '\0') {
        oct_file_remove_tree(u->draft, false);
    }
    if (err != OCT_OK) {
        oct_file_remove_folders(u->parent, u->made);
    }
    cli_pack_reader_destroy(u->reader);
    (void)close(fd);
    free(u);
    return err;
}
