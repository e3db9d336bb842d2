/*
 * pace: lets one call pass in an interval, and refuses those with a value of a field.
 *
 *   microseconds=COUNT       the interval between two calls, 0. Requests that come earlier wait.
 *   field=PATH deny=VALUE    the path of a text in requests, and the value with which they are refused
 *
 *   cc -std=c99 -shared -fPIC -I managed/plugin -o pace.so examples/engine/pace.c
 */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "pace"
#define LONGEST 256

struct pace {
    uint64_t microseconds;
    /* The earliest time of the next call. */
    uint64_t next;
    char field[LONGEST];
    char deny[LONGEST];
};

static bertha_text text_of(const char *string)
{
    bertha_text text = {string, strlen(string)};
    return text;
}

static int32_t refuse(bertha_sink *error, const char *what)
{
    error->write(error, what, strlen(what));
    return BERTHA_FAILED;
}

static int set_number(uint64_t *number, const char *value)
{
    char *end;
    *number = strtoull(value, &end, 10);
    return end != value && *end == 0 ? BERTHA_DONE : BERTHA_FAILED;
}

/* Takes settings, or the state of another engine, which has the same form. */
static int32_t set(struct pace *pace, bertha_text settings, bertha_sink *error)
{
    size_t at = 0;
    while (at < settings.len) {
        char name[LONGEST];
        size_t len = 0;
        for (; at < settings.len && settings.at[at] == ' '; at++) {
        }
        for (; at < settings.len && settings.at[at] != ' '; at++) {
            if (len == LONGEST - 1)
                return refuse(error, "a setting is too long");
            name[len++] = settings.at[at];
        }
        name[len] = 0;
        char *value = strchr(name, '=');
        if (len == 0)
            break;
        if (value == NULL)
            return refuse(error, "a setting has no value");
        *value++ = 0;
        if (strcmp(name, "field") == 0)
            memcpy(pace->field, value, strlen(value) + 1);
        else if (strcmp(name, "deny") == 0)
            memcpy(pace->deny, value, strlen(value) + 1);
        else if (strcmp(name, "microseconds") == 0 ? set_number(&pace->microseconds, value)
                 : strcmp(name, "next") == 0       ? set_number(&pace->next, value)
                                                   : BERTHA_FAILED)
            return refuse(error, "a setting is not understood");
    }
    return BERTHA_DONE;
}

static int32_t make(const bertha_binding *binding, bertha_text settings, void **engine, bertha_sink *error)
{
    struct pace *pace = calloc(1, sizeof *pace);
    (void)binding;
    if (pace == NULL)
        return refuse(error, "there is no memory");
    if (set(pace, settings, error) != BERTHA_DONE) {
        free(pace);
        return BERTHA_FAILED;
    }
    *engine = pace;
    return BERTHA_DONE;
}

static bertha_text reads(void *engine, uint32_t method)
{
    (void)method;
    return text_of(((struct pace *)engine)->field);
}

static int denies(const struct pace *pace, const bertha_message *message)
{
    size_t deny = strlen(pace->deny);
    for (size_t place = 0; deny > 0 && place < message->value_count; place++) {
        const bertha_value *value = &message->values[place];
        if (value->kind == BERTHA_TEXT && value->text.len == deny && memcmp(value->text.at, pace->deny, deny) == 0)
            return 1;
    }
    return 0;
}

static int32_t requests(void *engine, bertha_burst *burst)
{
    struct pace *pace = engine;
    size_t waiting = burst->held;
    for (size_t place = 0; place < burst->count; place++) {
        bertha_message *message = &burst->messages[place];
        if (message->kind != BERTHA_REQUEST)
            continue;
        if (denies(pace, message)) {
            message->verdict = BERTHA_REFUSE;
            message->refused_as = BERTHA_KIND_DENIED;
            message->reason = text_of("pace denies the value");
        } else {
            message->verdict = BERTHA_HOLD;
            waiting++;
        }
    }
    if (pace->microseconds == 0) {
        burst->release = SIZE_MAX;
    } else if (waiting > 0) {
        if (pace->next <= burst->now) {
            burst->release = 1;
            waiting--;
            pace->next = burst->now + pace->microseconds * 1000;
        }
        if (waiting > 0)
            burst->due = pace->next;
    }
    return BERTHA_DONE;
}

static int32_t responses(void *engine, bertha_burst *burst)
{
    (void)engine;
    (void)burst;
    return BERTHA_DONE;
}

static int32_t configure(void *engine, bertha_text settings, bertha_sink *error)
{
    struct pace *pace = engine;
    struct pace changed = *pace;
    if (set(&changed, settings, error) != BERTHA_DONE)
        return BERTHA_FAILED;
    if (strcmp(changed.field, pace->field) != 0)
        return refuse(error, "the field of pace stays what it is");
    *pace = changed;
    return BERTHA_DONE;
}

static int32_t take_apart(void *engine, uint32_t *version, bertha_sink *state)
{
    const struct pace *pace = engine;
    char text[3 * LONGEST];
    int len = snprintf(text, sizeof text, "microseconds=%" PRIu64 " next=%" PRIu64, pace->microseconds, pace->next);
    if (pace->field[0] != 0)
        len += snprintf(text + len, sizeof text - (size_t)len, " field=%s", pace->field);
    if (pace->deny[0] != 0)
        len += snprintf(text + len, sizeof text - (size_t)len, " deny=%s", pace->deny);
    *version = 1;
    state->write(state, text, (size_t)len);
    return BERTHA_DONE;
}

static int32_t restore(const bertha_binding *binding, uint32_t version, bertha_text state, void **engine, bertha_sink *error)
{
    if (version != 1)
        return refuse(error, "state of pace of another version is not understood");
    return make(binding, state, engine, error);
}

static void free_engine(void *engine)
{
    free(engine);
}

static const bertha_engine PACE = {
    BERTHA_ENGINE_VERSION, {NAME, sizeof NAME - 1}, make, reads, requests, responses, configure, take_apart, restore, free_engine,
};

const bertha_engine *bertha_engine_v1(void)
{
    return &PACE;
}
