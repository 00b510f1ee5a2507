/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each member is built and added in turn.  A failure stays a failure until the end, where it costs
 * the whole object: a result that does not say what it is would be worse than none.
 */
#include "obs/origin_json.h"

#include "obs/json_text.h"

#include <string.h>

/* Adds value, which is taken over, unless the object has the member.  Returns 0 or -1. */
static int put(json_t *obj, const char *key, json_t *value)
{
    if (value && json_object_get(obj, key)) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(obj, key, value);
}

static int put_text(json_t *obj, enum fe_origin_key key, const char *text)
{
    return text ? put(obj, fe_origin_names[key], fe_json_text(text, strlen(text))) : 0;
}

static json_t *overrides_json(const struct fe_origin *o)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list && i < o->n_overrides; i++)
        if (json_array_append_new(list, fe_json_text(o->overrides[i],
                                                     strlen(o->overrides[i]))) < 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *fe_origin_json(json_t *obj, const struct fe_origin *o)
{
    int r = obj ? 0 : -1;

    if (r == 0)
        r = put_text(obj, FE_ORIGIN_VERSION, o->version);
    if (r == 0)
        r = put_text(obj, FE_ORIGIN_COMMAND, o->command);
    if (r == 0)
        r = put_text(obj, FE_ORIGIN_PROFILE, o->profile);
    if (r == 0 && o->profile)
        r = put(obj, fe_origin_names[FE_ORIGIN_OVERRIDES], overrides_json(o));
    if (r == 0)
        r = put_text(obj, FE_ORIGIN_IMAGE, o->image);
    if (r == 0 && o->has_seed)
        r = put(obj, fe_origin_names[FE_ORIGIN_SEED], fe_json_u64(o->seed));
    if (r == 0)
        return obj;
    json_decref(obj);
    return NULL;
}
