/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list, because there are few names and each connection asks once.  The lock is held while a device
 * is made, so that two connections with a new name get the same one.
 */
#include "exports.h"

#include "adapter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *name;
    struct fe_server *server;
} list[FE_EXPORTS_MAX];
static uint32_t n_exports;

static int add(const char *name, struct fe_err *err)
{
    struct fe_server *s;

    if (n_exports == FE_EXPORTS_MAX)
        return fe_err_set(err, EMFILE, "export %.80s: there are devices for %d names already; "
                          "more need another server", name, FE_EXPORTS_MAX);
    char *kept = strdup(name);
    if (!kept)
        return fe_err_nomem(err, "export", strlen(name) + 1);
    int r = fe_server_create(&s, &adapter.params, &adapter.profile, err);
    if (r == 0) {
        r = fe_server_start(s, err);
        if (r < 0)
            fe_server_destroy(s);
    }
    if (r < 0) {
        free(kept);
        return r;
    }
    list[n_exports].name = kept;
    list[n_exports++].server = s;
    return 0;
}

static int find_own(struct fe_server **ret, const char *name, struct fe_err *err)
{
    uint32_t i = 0;
    int r = 0;

    while (i < n_exports && strcmp(list[i].name, name) != 0)
        i++;
    if (i == n_exports)
        r = add(name, err);
    if (r == 0)
        *ret = list[i].server;
    return r;
}

int fe_exports_find(struct fe_server **ret, const char *name, struct fe_err *err)
{
    if (!adapter.params.own_exports || name[0] == '\0') {
        *ret = adapter.server;
        return 0;
    }
    pthread_mutex_lock(&lock);
    int r = find_own(ret, name, err);
    pthread_mutex_unlock(&lock);
    return r;
}

void fe_exports_end(void)
{
    while (n_exports > 0) {
        n_exports--;
        fe_server_destroy(list[n_exports].server); /* without an image or trace to be ended */
        free(list[n_exports].name);
    }
}
