/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of JSON as a tree: the members of an object and of an array are a list in their order.
 */
#include "jansson.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { NOTHING, TRUTH, INTEGER, REAL, STRING, ARRAY, OBJECT };

struct json {
    enum kind kind;
    char *key, *text;     /* of a member; of a string */
    json_int_t number;    /* of an integer and a truth value */
    double real;
    json_t *first, *last; /* of an array and an object */
    json_t *next;         /* in the list of which this is a member */
};

static json_t *make(enum kind kind)
{
    json_t *v = calloc(1, sizeof *v);

    if (v)
        v->kind = kind;
    return v;
}

json_t *json_object(void)
{
    return make(OBJECT);
}

json_t *json_array(void)
{
    return make(ARRAY);
}

json_t *json_null(void)
{
    return make(NOTHING);
}

static json_t *make_number(enum kind kind, json_int_t n)
{
    json_t *v = make(kind);

    if (v)
        v->number = n;
    return v;
}

json_t *json_integer(json_int_t n)
{
    return make_number(INTEGER, n);
}

json_t *json_boolean(int value)
{
    return make_number(TRUTH, value != 0);
}

json_t *json_real(double x)
{
    json_t *v = make(REAL);

    if (v)
        v->real = x;
    return v;
}

/* jansson refuses what is not UTF-8.  Here JavaScript decodes the text, which nothing can harm. */
json_t *json_stringn(const char *text, size_t len)
{
    json_t *v = make(STRING);

    if (v)
        v->text = strndup(text, len);
    if (v && v->text)
        return v;
    free(v);
    return NULL;
}

json_t *json_string(const char *text)
{
    return json_stringn(text, strlen(text));
}

void json_decref(json_t *v)
{
    if (!v)
        return;
    for (json_t *m = v->first, *next; m; m = next) {
        next = m->next;
        json_decref(m);
    }
    free(v->key);
    free(v->text);
    free(v);
}

int json_array_append_new(json_t *list, json_t *v)
{
    if (!list || !v) {
        json_decref(v);
        return -1;
    }
    if (list->last)
        list->last->next = v;
    else
        list->first = v;
    list->last = v;
    return 0;
}

json_t *json_object_get(const json_t *object, const char *key)
{
    json_t *m = object ? object->first : NULL;

    while (m && strcmp(m->key, key) != 0)
        m = m->next;
    return m;
}

/* A key that is there already would be a mistake of this program: nothing is replaced. */
int json_object_set_new(json_t *object, const char *key, json_t *v)
{
    if (!v || json_object_get(object, key) || !(v->key = strdup(key))) {
        json_decref(v);
        return -1;
    }
    return json_array_append_new(object, v);
}

/* The value of one member by its letter. */
static json_t *pack_value(char letter, va_list *ap)
{
    switch (letter) {
    case 'b': return json_boolean(va_arg(*ap, int));
    case 'I': return json_integer(va_arg(*ap, json_int_t));
    case 's': return json_string(va_arg(*ap, const char *));
    default: return va_arg(*ap, json_t *);
    }
}

json_t *json_pack(const char *format, ...)
{
    json_t *object = json_object();
    bool bad = !object;
    va_list ap;

    va_start(ap, format);
    for (const char *p = format; (p = strstr(p, "s:")); p += 3) {
        const char *key = va_arg(ap, const char *);
        json_t *v = pack_value(p[2], &ap);
        if (object)
            bad |= json_object_set_new(object, key, v) < 0;
        else
            json_decref(v);
    }
    va_end(ap);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

int json_is_integer(const json_t *v)
{
    return v && v->kind == INTEGER;
}

int json_is_string(const json_t *v)
{
    return v && v->kind == STRING;
}

json_int_t json_integer_value(const json_t *v)
{
    return json_is_integer(v) ? v->number : 0;
}

const char *json_string_value(const json_t *v)
{
    return json_is_string(v) ? v->text : NULL;
}

size_t json_string_length(const json_t *v)
{
    return json_is_string(v) ? strlen(v->text) : 0;
}

static void put_text(const char *text, FILE *out)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            putc(*c, out);
    putc('"', out);
}

/* A real number stays one when it is read again, and its exponent has no zeros in front. */
static void put_real(double x, int digits, FILE *out)
{
    char text[64];

    snprintf(text, sizeof text, "%.*g", digits, x);
    char *e = strchr(text, 'e');
    if (!e) {
        fprintf(out, "%s%s", text, strchr(text, '.') ? "" : ".0");
        return;
    }
    fprintf(out, "%.*se%ld", (int)(e - text), text, strtol(e + 1, NULL, 10));
}

static void put(const json_t *v, int digits, FILE *out)
{
    static const char open[] = "[{", close[] = "]}";

    if (v->kind == NOTHING)
        fputs("null", out);
    else if (v->kind == TRUTH)
        fputs(v->number ? "true" : "false", out);
    else if (v->kind == INTEGER)
        fprintf(out, "%lld", v->number);
    else if (v->kind == REAL)
        put_real(v->real, digits, out);
    else if (v->kind == STRING)
        put_text(v->text, out);
    if (v->kind < ARRAY)
        return;
    putc(open[v->kind - ARRAY], out);
    for (const json_t *m = v->first; m; m = m->next) {
        if (v->kind == OBJECT) {
            put_text(m->key, out);
            fputs(": ", out);
        }
        put(m, digits, out);
        if (m->next)
            fputs(", ", out);
    }
    putc(close[v->kind - ARRAY], out);
}

int json_dumpf(const json_t *v, FILE *out, size_t digits)
{
    put(v, (int)digits, out);
    return ferror(out) ? -1 : 0;
}
