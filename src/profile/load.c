/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading a profile: from a path, from a folder of $FLASHEMU_PATH, or from the program itself.
 *
 *     "transcend8g"     a name: FOLDER/transcend8g.ini of each folder, then the shipped ones
 *     "./stick.ini"     a path: it contains '/' or ends in ".ini"
 *
 * A name consists of plain characters.  So "x" never means the file ./x by accident, and a name
 * cannot lead out of the folders that are searched.
 *
 * stat() comes before open(): opening a FIFO would wait for its other end, and opening a device
 * can have side effects.  The file's type and size are checked before a byte is read.
 *
 *     name --> file or built-in text --> fe_parse_text --> overrides --> fe_settle --> profile
 *                                            |                 |             |
 *                                            '-----------------+-------------'
 *                                                              v
 *                                                 struct fe_mistakes --> verdict
 *
 * Two callers run these stages, and they differ in what happens after a mistake.  Loading reports
 * a single mistake, so it stops at the end of the stage that finds one.  `flashemu check` runs all
 * stages and prints every mistake.
 *
 * The profile in an image goes through the same stages, except that it has no overrides and that
 * keys without effect are passed over (`stored` in parse.h).
 *
 * Not checked here: whether the device can be built.  That is the business of device/build.c,
 * whose messages name a key.  fe_profile_explain reads the profile again to find the key's place.
 */
#include "base/guess.h"
#include "profile/builtin.h"
#include "profile/notes.h"
#include "profile/parse.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "FILE: why", with a long path cut to its end. */
static int file_error(const char *path, int errnum, const char *why, struct fe_err *err)
{
    char label[160];
    fe_label(path, label, sizeof label);
    return fe_err_set(err, errnum, "%s: %s", label, why);
}

/* Only a regular file of at most FE_MAX_PROFILE bytes is read. */
static int check_kind(const char *path, const struct stat *st, struct fe_err *err)
{
    if (S_ISDIR(st->st_mode))
        return file_error(path, EISDIR, "is a directory, not a profile", err);
    if (!S_ISREG(st->st_mode))
        return file_error(path, EINVAL, "is not a regular file", err);
    if (st->st_size > FE_MAX_PROFILE)
        return file_error(path, EFBIG, "is larger than 1 MiB, the most that a profile may have",
                          err);
    return 0;
}

/* Reads to the end of the file and does not trust the size from stat(): a file of /proc has
 * size 0, and any file may grow.  The buffer has room for one byte more than is allowed, which
 * shows that the file is too large, and for the NUL. */
static int read_all(int fd, const char *path, char **ret, size_t *ret_len, struct fe_err *err)
{
    size_t len = 0;
    char *text = malloc(FE_MAX_PROFILE + 2);
    if (!text)
        return fe_err_nomem(err, "text of a profile", FE_MAX_PROFILE + 2);
    while (len <= FE_MAX_PROFILE) {
        ssize_t n = read(fd, text + len, FE_MAX_PROFILE + 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int r = file_error(path, errno, strerror(errno), err);
            free(text);
            return r;
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len > FE_MAX_PROFILE) {
        free(text);
        return file_error(path, EFBIG, "is larger than 1 MiB, the most that a profile may have",
                          err);
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    return 0;
}

/* The kind is checked twice, because another file can take the name between stat() and open().
 * The second check looks at the file that is really open.  O_NONBLOCK and O_NOCTTY keep the open()
 * harmless if that other file is a FIFO or a terminal. */
int fe_read_file(const char *path, char **ret, size_t *ret_len, struct fe_err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return file_error(path, errno, strerror(errno), err);
    int r = check_kind(path, &st, err);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return file_error(path, errno, strerror(errno), err);
    if (fstat(fd, &st) < 0)
        r = file_error(path, errno, strerror(errno), err);
    else
        r = check_kind(path, &st, err);
    if (r == 0)
        r = read_all(fd, path, ret, ret_len, err);
    close(fd);
    return r;
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n >= 4 && strcmp(name + n - 4, ".ini") == 0);
}

/* A name may not begin with '-' or '.', so it never looks like an option or a hidden file.  It must
 * fit into fe_profile.name. */
static bool is_plain_name(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (!((name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
              (name[n] >= '0' && name[n] <= '9') || name[n] == '_' ||
              (n > 0 && (name[n] == '-' || name[n] == '.'))))
            return false;
    return n > 0 && n < sizeof(((struct fe_profile *)0)->name);
}

void fe_profile_list_names(char *buf, size_t len)
{
    static const char more[] = " ...";
    assert(len >= sizeof more);
    buf[0] = '\0';
    for (uint32_t i = 0; fe_profile_names[i]; i++) {
        size_t behind = fe_profile_names[i + 1] ? sizeof more : 1;
        bool fits = strlen(buf) + 1 + strlen(fe_profile_names[i]) + behind <= len;
        fe_text_add(buf, len, " %s", fits ? fe_profile_names[i] : "...");
        if (!fits)
            return;
    }
}

/* The names in the folders of $FLASHEMU_PATH are not listed: folders are never read. */
static int unknown_name(const char *name, struct fe_err *err)
{
    struct fe_guess guess = FE_GUESS_NONE;
    char list[400];
    for (uint32_t i = 0; fe_profile_names[i]; i++)
        fe_guess_try(&guess, name, strlen(name), fe_profile_names[i]);
    if (guess.name)
        return fe_err_set(err, ENOENT, "profile=%.64s: no profile of that name; did you mean %s? "
                          "flashemu profiles lists them", name, guess.name);
    fe_profile_list_names(list, sizeof list);
    return fe_err_set(err, ENOENT,
                      "profile=%.64s: no profile of that name; known:%s; or a path with '/' or "
                      ".ini",
                      name, list);
}

/* Finds the first NAME.ini in the folders, which are separated by colons.  *ret is a path that the
 * caller frees, or NULL if no folder has the file.
 *
 * An empty part of the list is skipped and does not mean the working directory.  A file that exists
 * but cannot be used ends the search: a shipped profile of the same name must not silently take
 * its place. */
static int search_folders(const char *folders, const char *name, char **ret, struct fe_err *err)
{
    *ret = NULL;
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");
        size_t size = n + strlen(name) + sizeof "/.ini";
        if (n > 0) {
            struct stat st;
            char *path = malloc(size);
            if (!path)
                return fe_err_nomem(err, "path of a profile", size);
            snprintf(path, size, "%.*s/%s.ini", (int)n, folders, name);
            if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR)) {
                *ret = path; /* if something is wrong with the file, reading it will say so */
                return 0;
            }
            free(path);
        }
        folders += n + (folders[n] == ':');
    }
    return 0;
}

/* "kit/stick.ini" -> "stick".  A name that is too long is cut. */
static void name_from_path(const char *path, char *buf, size_t len)
{
    const char *slash = strrchr(path, '/');
    snprintf(buf, len, "%s", slash ? slash + 1 : path);
    size_t n = strlen(buf);
    if (n > 4 && strcmp(buf + n - 4, ".ini") == 0)
        buf[n - 4] = '\0';
}

/* 0, or the first mistake as an error.  First means the lowest line, not the mistake that was found
 * first.  Lack of memory takes precedence, because the text has not been read to its end then. */
static int verdict(const struct fe_parse *ps, struct fe_err *err)
{
    if (ps->nomem || ps->mistakes->nomem)
        return fe_err_nomem(err, "profile", sizeof *ps->p);
    if (ps->mistakes->n == 0)
        return 0;
    return fe_err_set(err, EINVAL, "%s", ps->mistakes->first.text);
}

/* The stages in turn, each with a verdict behind it.  The text comes first, so a mistake in the
 * file is reported even if an override would replace the wrong value.  stored: as in struct
 * fe_parse.  After a failure *ret is freed and zero. */
static int parse(struct fe_profile *ret, const char *file_name, const char *text, size_t len,
                 bool stored, const char *const *overrides, uint32_t n_overrides,
                 struct fe_err *err)
{
    struct fe_mistakes mistakes;
    struct fe_parse ps;

    fe_mistakes_init(&mistakes, false);
    fe_parse_init(&ps, ret, &mistakes, file_name);
    ps.stored = stored;
    name_from_path(file_name, ret->name, sizeof ret->name);
    fe_parse_text(&ps, text, len);
    int r = verdict(&ps, err);
    for (uint32_t i = 0; r == 0 && i < n_overrides; i++) {
        fe_parse_override(&ps, overrides[i]);
        r = verdict(&ps, err);
    }
    if (r == 0) {
        fe_settle(&ps);
        r = verdict(&ps, err);
    }
    fe_mistakes_fini(&mistakes);
    if (r < 0)
        fe_profile_fini(ret);
    return r;
}

int fe_profile_parse(struct fe_profile *ret, const char *file_name, const char *text, size_t len,
                     const char *const *overrides, uint32_t n_overrides, struct fe_err *err)
{
    return parse(ret, file_name, text, len, false, overrides, n_overrides, err);
}

int fe_profile_parse_stored(struct fe_profile *ret, const char *file_name, const char *text,
                            size_t len, struct fe_err *err)
{
    return parse(ret, file_name, text, len, true, NULL, 0, err);
}

/* The text of a profile.  Of a file, path and content are owned; of a built-in profile they are
 * NULL. */
struct found {
    const char *file_name, *text;
    size_t len;
    char *path, *content;
};

static void forget(struct found *f)
{
    free(f->path);
    free(f->content);
}

/* Finds the text of a profile.  After success the caller calls forget(). */
static int find(struct found *ret, const char *name_or_path, struct fe_err *err)
{
    *ret = (struct found){0};
    if (!is_path(name_or_path) && !is_plain_name(name_or_path))
        return fe_err_set(err, EINVAL,
                          "profile=%.64s: a name has letters, digits and _-. only, up to 63; a "
                          "path has a '/' or ends in .ini",
                          name_or_path);
    int r = fe_profile_path(&ret->path, name_or_path, err);
    if (r < 0)
        return r;
    if (ret->path) {
        r = fe_read_file(ret->path, &ret->content, &ret->len, err);
        ret->file_name = ret->path;
        ret->text = ret->content;
        if (r < 0)
            forget(ret);
        return r;
    }
    for (const struct fe_builtin *b = fe_builtins; b->file_name; b++) {
        char name[64];
        name_from_path(b->file_name, name, sizeof name);
        if (strcmp(name, name_or_path) != 0)
            continue;
        ret->file_name = b->file_name;
        ret->text = b->text;
        ret->len = b->len;
        return 0;
    }
    return unknown_name(name_or_path, err);
}

int fe_profile_path(char **ret, const char *name_or_path, struct fe_err *err)
{
    if (!is_path(name_or_path))
        return search_folders(getenv("FLASHEMU_PATH"), name_or_path, ret, err);
    *ret = strdup(name_or_path);
    return *ret ? 0 : fe_err_nomem(err, "path of a profile", strlen(name_or_path) + 1);
}

int fe_profile_load(struct fe_profile *ret, const char *name_or_path,
                    const char *const *overrides, uint32_t n_overrides, struct fe_err *err)
{
    struct found f;

    int r = find(&f, name_or_path, err);
    if (r < 0)
        return r;
    r = fe_profile_parse(ret, f.file_name, f.text, f.len, overrides, n_overrides, err);
    forget(&f);
    return r;
}

/* Splits "SECTION.KEY=VALUE: why" and "SECTION.KEY: why".  What a strategy says about the chip is
 * about the number of blocks.  NULL for any other message. */
static const struct fe_option *split(const char *message, const char **ret_why)
{
    size_t n = strcspn(message, "=: ");
    const char *colon = strstr(message + n, ": ");
    char key[64];

    snprintf(key, sizeof key, "%.*s", (int)n, message);
    const struct fe_option *o = fe_option_find(key);
    *ret_why = o && message[n] != ' ' && colon ? colon + 2 : message;
    if (!o && strncmp(message, "the chip has ", 13) == 0)
        o = fe_option_in(FE_SEC_NAND, "blocks_per_plane");
    return o;
}

int fe_profile_explain(const char *name_or_path, const char *const *overrides,
                       uint32_t n_overrides, const char *message, struct fe_err *err)
{
    struct fe_mistakes mistakes;
    struct fe_profile profile;
    struct fe_parse ps;
    struct found f;
    const char *why;

    const struct fe_option *o = split(message, &why);
    if (!o || find(&f, name_or_path, NULL) < 0)
        return fe_err_set(err, EINVAL, "%s", message);
    fe_mistakes_init(&mistakes, false);
    fe_parse_init(&ps, &profile, &mistakes, f.file_name);
    fe_parse_text(&ps, f.text, f.len);
    for (uint32_t i = 0; i < n_overrides; i++)
        fe_parse_override(&ps, overrides[i]);
    fe_settle(&ps);
    fe_parse_blame(&ps, o, why);
    int r = verdict(&ps, err);
    fe_mistakes_fini(&mistakes);
    fe_profile_fini(&profile);
    forget(&f);
    return r;
}

/* No stage is skipped after a mistake, unlike in parse(): people want to see all mistakes in one
 * run.  fe_settle leaves out what is a mere consequence of a mistake that was reported before. */
int fe_profile_check(const char *path, FILE *out, struct fe_err *err)
{
    struct fe_mistakes mistakes;
    struct fe_profile profile;
    struct fe_parse ps;
    char *text;
    size_t len;

    int r = fe_read_file(path, &text, &len, err);
    if (r < 0)
        return r;
    fe_mistakes_init(&mistakes, true);
    fe_parse_init(&ps, &profile, &mistakes, path);
    fe_parse_text(&ps, text, len);
    fe_settle(&ps);
    if (ps.nomem || mistakes.nomem) {
        r = fe_err_nomem(err, "mistakes of a profile", mistakes.n_max * sizeof *mistakes.list);
    } else {
        fe_mistakes_print(&mistakes, out);
        r = (int)mistakes.n;
        if (fflush(out) != 0 || ferror(out))
            r = fe_err_set(err, EIO, "the list of mistakes could not be written");
    }
    fe_mistakes_fini(&mistakes);
    fe_profile_fini(&profile);
    free(text);
    return r;
}
