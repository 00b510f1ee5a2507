/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several processes walk through the same work, and each looks at every so many-th window:
 *
 *     window     0   1   2   3   4   5
 *     process    0   1   2   0   1   2
 *
 * This process takes what they tell in the order of the windows.  So the result does not depend on how
 * many there are, nor on which of them is faster.  Each process leaves out the bytes of a state that
 * it has told before; what two of them tell is left out here.
 */
#include "cuts/cuts.h"

#include "base/num.h"
#include "rt/clock.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- ids --- */

static void put_op(char *buf, size_t len, uint32_t op, uint32_t outcome)
{
    if (op == CUTS_END || op == CUTS_IDLE)
        snprintf(buf, len, "%s", op == CUTS_END ? "end" : "idle");
    else if (op == CUTS_ANY || op == CUTS_LAST)
        snprintf(buf, len, "%s:%" PRIu32, op == CUTS_ANY ? "any" : "last", outcome);
    else
        snprintf(buf, len, "%" PRIu32 ":%" PRIu32, op, outcome);
}

const char *cuts_id_text(const char *hash, const struct cuts_id *id, char buf[CUTS_ID_MAX])
{
    char first[24], second[24];
    put_op(first, sizeof first, id->op, id->outcome);
    put_op(second, sizeof second, id->op2, id->outcome2);
    bool has_second = id->op2 != CUTS_NO_SECOND;
    snprintf(buf, CUTS_ID_MAX, "%s:%" PRIu32 ":%s%s%s", hash, id->request, first,
             has_second ? ":" : "", has_second ? second : "");
    return buf;
}

/* Takes ":N" off the front.  False if it is not there. */
static bool take_number(const char **p, uint32_t *ret)
{
    char *end;
    if (**p != ':' || (*p)[1] < '0' || (*p)[1] > '9')
        return false;
    unsigned long long n = strtoull(*p + 1, &end, 10);
    *ret = (uint32_t)n;
    *p = end;
    return n < CUTS_LAST;
}

static bool take_op(const char **p, uint32_t *op, uint32_t *outcome)
{
    static const struct {
        const char *text;
        uint32_t op;
    } words[] = {{":end", CUTS_END}, {":idle", CUTS_IDLE}, {":any", CUTS_ANY}, {":last", CUTS_LAST}};
    *outcome = 0;
    for (int i = 0; i < 4; i++) {
        size_t len = strlen(words[i].text);
        if (strncmp(*p, words[i].text, len) == 0) {
            *op = words[i].op;
            *p += len;
            return *op == CUTS_END || *op == CUTS_IDLE || take_number(p, outcome);
        }
    }
    return take_number(p, op) && take_number(p, outcome) && *outcome <= FE_CUT_DONE;
}

bool cuts_id_parse(const char *hash, const char *text, struct cuts_id *ret)
{
    size_t len = strlen(hash);
    const char *p = text + len;
    *ret = (struct cuts_id){.op2 = CUTS_NO_SECOND};
    if (strncmp(text, hash, len) != 0 || !take_number(&p, &ret->request) ||
        !take_op(&p, &ret->op, &ret->outcome))
        return false;
    return *p == '\0' || (!cuts_is_subset(ret) && take_op(&p, &ret->op2, &ret->outcome2) && *p == '\0' &&
                          ret->op2 < CUTS_LAST);
}

/* --- what is known --- */

/* Digests of states, each with a number of marks; ANY stands for "with whatever marks". */
struct entry {
    struct fe_digest hash;
    uint64_t marks; /* WITH + their number, or ANY; 0: this place is free */
};

struct known {
    struct entry *entries;
    size_t room, n;
};

enum { ANY = 1, WITH = 2 };
#define OF_SUBSETS (UINT64_C(1) << 40)

static uint64_t with(uint32_t marks, bool is_subset)
{
    return (uint64_t)marks + WITH + (is_subset ? OF_SUBSETS : 0);
}

static size_t place_of(const struct known *k, struct fe_digest hash, uint64_t marks)
{
    size_t i = (size_t)fe_mix64(hash.a + marks) & (k->room - 1);
    while (k->entries[i].marks &&
           (k->entries[i].marks != marks || !fe_digest_same(k->entries[i].hash, hash)))
        i = (i + 1) & (k->room - 1);
    return i;
}

static bool knows(const struct known *k, struct fe_digest hash, uint64_t marks)
{
    return k->room > 0 && k->entries[place_of(k, hash, marks)].marks;
}

/* Returns 1 if it was new, 0 if not, or -ENOMEM with message. */
static int note(struct known *k, struct fe_digest hash, uint64_t marks, struct fe_err *err)
{
    if (2 * (k->n + 1) > k->room) {
        struct known larger = {.room = k->room ? 2 * k->room : 1024, .n = k->n};
        larger.entries = calloc(larger.room, sizeof *larger.entries);
        if (!larger.entries)
            return fe_err_nomem(err, "states", larger.room * sizeof *larger.entries);
        for (size_t i = 0; i < k->room; i++)
            if (k->entries[i].marks)
                larger.entries[place_of(&larger, k->entries[i].hash, k->entries[i].marks)] =
                    k->entries[i];
        free(k->entries);
        *k = larger;
    }
    size_t i = place_of(k, hash, marks);
    if (k->entries[i].marks)
        return 0;
    k->entries[i].hash = hash;
    k->entries[i].marks = marks;
    k->n++;
    return 1;
}

/* --- a process --- */

/* What a process and its children have told, in memory that they share.  When it is full, states are
 * told again, which costs time and nothing else. */
enum { SHARED_ROOM = 1 << 20 };

struct shared {
    struct known known;
    struct entry entries[SHARED_ROOM];
};

static bool was_told(void *ctx, struct fe_digest hash, uint32_t marks, bool is_subset)
{
    struct known *k = &((struct shared *)ctx)->known;
    if (knows(k, hash, with(marks, is_subset)))
        return true;
    if (2 * (k->n + 1) <= k->room)
        (void)note(k, hash, with(marks, is_subset), NULL);
    return false;
}

/* Walks, and never returns.  Ends when the process that listens does. */
static void run_process(struct cuts_walk *w, int to, const struct cuts_maker *maker)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0);
    struct fe_err err = {""};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    w->out = fdopen(to, "w");
    int r = s == MAP_FAILED || !w->out ? fe_err_set(&err, errno, "cuts: %s", strerror(errno)) : 0;
    if (r == 0)
        r = maker->make(maker->ctx, &w->dev, &err);
    if (r == 0) {
        s->known = (struct known){.entries = s->entries, .room = SHARED_ROOM};
        w->was_told = was_told;
        w->ctx = s;
        r = cuts_walk_run(w, &err);
    }
    if (r < 0)
        tool_fail(&err);
    _exit(r < 0 ? TOOL_USAGE : TOOL_OK);
}

/* --- what they tell --- */

struct collector {
    const struct cuts_options *opt;
    struct cuts_result *result;
    struct known known;
    uint64_t wanted;    /* cuts, without those of recovery */
    uint64_t shown_ns;  /* when progress was shown last */
    struct fe_err *err;
};

/* Five times a second, and not once a window: one in which a unit is copied has thousands of cuts. */
static void show_progress(struct collector *c)
{
    uint64_t now_ns = fe_clock_now_ns();
    if (now_ns - c->shown_ns < FE_NS_PER_S / 5)
        return;
    c->shown_ns = now_ns;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " cuts, %" PRIu64 " states \033[K",
            c->result->tried - c->result->second, c->wanted, c->result->states);
    fflush(stderr);
}

static int read_all(FILE *from, void *buf, size_t len, struct fe_err *err)
{
    if (fread(buf, 1, len, from) == len)
        return 0;
    return fe_err_set(err, EIO, "cuts: a process has ended early");
}

static json_t *range_json(const struct cuts_range *r, uint64_t place)
{
    json_t *a = json_pack("[I, I]", (json_int_t)r->offset, (json_int_t)r->len);
    if (r->kind == CUTS_DATA)
        json_array_append_new(a, json_integer((json_int_t)place));
    return a;
}

/* Reads one range; its bytes go to the data file if the state is new. */
static int take_range(struct collector *c, FILE *from, json_t *lists[], bool keep)
{
    struct cuts_range r;
    uint64_t place = 0;
    int code = read_all(from, &r, sizeof r, c->err);
    uint8_t *buf = code == 0 && r.kind == CUTS_DATA ? malloc((size_t)r.len) : NULL;
    if (code == 0 && r.kind == CUTS_DATA)
        code = buf ? read_all(from, buf, (size_t)r.len, c->err)
                   : fe_err_nomem(c->err, "bytes of a state", r.len);
    if (code == 0 && buf && keep && c->opt->data)
        code = fe_data_put(c->opt->data, r.offset, r.len, buf, &place, c->err);
    free(buf);
    if (code == 0 && keep)
        json_array_append_new(lists[r.kind], range_json(&r, place));
    return code;
}

static int print_state(struct collector *c, const struct cuts_found *f, json_t *lists[])
{
    char id[CUTS_ID_MAX], hash[33];
    snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, f->hash.a, f->hash.b);
    json_t *o = json_pack("{s:s, s:s, s:i, s:I, s:i, s:s, s:O, s:O, s:O}", "id",
                          cuts_id_text(c->result->hash, &f->id, id), "sort",
                          cuts_is_subset(&f->id) ? "any device" : "device", "request", (int)f->id.request,
                          "time_ns", (json_int_t)f->at_ns, "marks", (int)f->marks, "hash", hash,
                          "data", lists[CUTS_DATA], "zeros", lists[CUTS_ZEROS], "unreadable",
                          lists[CUTS_UNREADABLE]);
    int code = 0;
    errno = 0;
    if (!o || tool_json_incomplete())
        code = fe_err_nomem(c->err, "a state", 0);
    else if (json_dumpf(o, c->opt->states, JSON_COMPACT) < 0 || fputc('\n', c->opt->states) == EOF)
        code = fe_err_set(c->err, errno ? errno : EIO, "states: %s", strerror(errno ? errno : EIO));
    json_decref(o);
    return code;
}

static int take_state(struct collector *c, const struct cuts_found *f, FILE *from)
{
    json_t *lists[3] = {json_array(), json_array(), json_array()};
    bool subset = cuts_is_subset(&f->id);
    bool as_device = subset && knows(&c->known, f->hash, with(f->marks, false));
    int is_new = as_device ? 0 : note(&c->known, f->hash, with(f->marks, subset), c->err);
    int is_other = is_new > 0 && !subset ? note(&c->known, f->hash, ANY, c->err) : 0;
    int code = is_new < 0 ? is_new : is_other < 0 ? is_other : 0;
    for (uint32_t i = 0; i < f->n_ranges && code == 0; i++)
        code = take_range(c, from, lists, is_new > 0);
    *(subset ? &c->result->subset_cases : &c->result->cases) += is_new > 0;
    c->result->states += is_other > 0;
    c->result->unreadable += is_new > 0 && !subset && json_array_size(lists[CUTS_UNREADABLE]) > 0;
    if (code == 0 && is_new > 0 && c->opt->states)
        code = print_state(c, f, lists);
    for (int i = 0; i < 3; i++)
        json_decref(lists[i]);
    return code;
}

static void note_failed(struct collector *c, const struct cuts_id *id)
{
    if (c->result->failed++ == 0)
        cuts_id_text(c->result->hash, id, c->result->first_failed);
}

/* Takes all that is told about one window.  A cut that begins, and of which nothing more is heard, has
 * crashed the device. */
static int take_window(struct collector *c, FILE *from)
{
    struct cuts_found f, open[2];
    uint32_t n_open = 0;
    for (;;) {
        int code = read_all(from, &f, sizeof f, c->err);
        if (code < 0)
            return code;
        bool second = f.id.op2 != CUTS_NO_SECOND;
        if (f.kind == CUTS_BEGUN || f.kind == CUTS_WINDOW) {
            uint32_t keep = f.kind == CUTS_BEGUN && second ? 1 : 0;
            while (n_open > keep)
                note_failed(c, &open[--n_open].id);
            if (f.kind == CUTS_WINDOW)
                return 0;
            open[n_open++] = f;
            c->result->tried++;
            c->result->second += second;
            if (c->opt->progress)
                show_progress(c);
            continue;
        }
        if (cuts_is_subset(&f.id)) {
            c->result->subsets++;
            while (n_open > 0)
                note_failed(c, &open[--n_open].id);
        }
        uint32_t level = second ? 1 : 0;
        while (n_open > level + 1)
            note_failed(c, &open[--n_open].id);
        n_open = n_open > level ? level : n_open;
        c->result->dead += f.kind == CUTS_DEAD;
        if (f.kind == CUTS_FAILED)
            note_failed(c, &f.id);
        if (f.kind == CUTS_STATE && (code = take_state(c, &f, from)) < 0)
            return code;
    }
}

/* --- all of them --- */

struct process {
    FILE *from;
    pid_t pid;
};

static int start_process(struct process *p, const struct cuts_walk *w, uint32_t job, uint32_t jobs,
                         const struct cuts_maker *maker, struct fe_err *err)
{
    struct cuts_walk own = *w;
    int ends[2];
    own.job = job;
    own.jobs = jobs;
    if (pipe(ends) < 0)
        return fe_err_set(err, errno, "cuts: %s", strerror(errno));
    p->pid = fork();
    if (p->pid == 0) {
        close(ends[0]);
        run_process(&own, ends[1], maker);
    }
    int errnum = errno;
    close(ends[1]);
    p->from = p->pid < 0 ? NULL : fdopen(ends[0], "r");
    if (p->from)
        return 0;
    close(ends[0]);
    return fe_err_set(err, errnum, "cuts: a process: %s", strerror(errnum));
}

static int end_process(struct process *p, int r, struct fe_err *err)
{
    int status = 0;
    if (p->from)
        fclose(p->from);
    if (p->pid > 0 && r < 0)
        kill(p->pid, SIGKILL); /* it is ours, and has not been waited for */
    while (p->pid > 0 && waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        return fe_err_set(err, EIO, "cuts: a process has ended early");
    return r;
}

/* Counts the instants, which also tells whether the device can do the work at all. */
static int count(struct cuts_walk *w, const struct cuts_maker *maker, struct cuts_result *ret,
                 struct fe_err *err)
{
    int r = maker->make(maker->ctx, &w->dev, err);
    w->counts_only = true;
    w->jobs = 1;
    if (r == 0) {
        ret->capacity = fe_device_capacity(w->dev);
        r = cuts_walk_run(w, err);
    }
    fe_device_destroy(w->dev);
    w->dev = NULL;
    w->counts_only = false;
    w->total = ret->instants = w->n_instants;
    w->places_of_subsets = w->n_open;
    return r;
}

int cuts_states_run(struct cuts_walk *w, const struct cuts_options *opt,
                    const struct cuts_maker *maker, struct cuts_result *ret, struct fe_err *err)
{
    struct collector c = {.opt = opt, .result = ret, .err = err};
    struct process processes[CUTS_MAX_JOBS] = {{NULL, 0}};
    uint32_t n = 0, windows = w->work->n_requests + 1;
    int r = count(w, maker, ret, err);
    c.wanted = fe_min_u64(w->wanted, w->total);
    for (; n < opt->jobs && r == 0; n++)
        r = start_process(&processes[n], w, n, opt->jobs, maker, err);
    for (uint32_t i = 0; i < windows && r == 0; i++)
        r = take_window(&c, processes[i % opt->jobs].from);
    if (opt->progress)
        fputs("\r\033[K", stderr);
    for (uint32_t i = 0; i < n; i++)
        r = end_process(&processes[i], r, err);
    free(c.known.entries);
    return r;
}
