/* An engine with mistakes. Settings choose those of an engine, and definitions those of the library. */
#define _POSIX_C_SOURCE 200809L
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION BERTHA_ENGINE_VERSION
#endif
#ifndef NAME
#define NAME "wrong"
#endif
/* Number of times that a state suits. */
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef RESPONSES
#define RESPONSES responses
#endif

#ifdef LEAVES
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leaves a process behind that is in no group with this one, and whose parent has gone. Its number is in the file of this name. */
static __attribute__((constructor)) void leave(void)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t left = fork();
        if (left == 0)
            for (;;)
                pause();
        FILE *file = fopen(LEAVES, "w");
        fprintf(file, "%d\n", (int)left);
        fclose(file);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
#endif

static char mistake[64];
static char kept[256];
static size_t kept_len;
static int restored;
static char long_reason[BERTHA_LONGEST_REASON + 1];

static int is(const char *name)
{
    return strcmp(mistake, name) == 0;
}

static int32_t make(const bertha_binding *binding, bertha_text settings, void **engine, bertha_sink *error)
{
    const char *value = memchr(settings.at, '=', settings.len);
    size_t len = value == NULL ? 0 : settings.len - (size_t)(value + 1 - settings.at);
    (void)binding;
    if (len >= sizeof mistake)
        return BERTHA_FAILED;
    if (len > 0)
        memcpy(mistake, value + 1, len);
    mistake[len] = 0;
    if (is("silent"))
        return BERTHA_FAILED;
    if (is("chatty")) {
        for (int line = 0; line < 10000; line++)
            error->write(error, "a\nb\xff", 4);
        return BERTHA_FAILED;
    }
    *engine = is("null-engine") ? NULL : mistake;
    return BERTHA_DONE;
}

static bertha_text reads(void *engine, uint32_t method)
{
    bertha_text text = {NULL, 0};
    (void)engine;
    (void)method;
    if (is("reads-null"))
        text.len = 5;
    if (is("reads-nothing")) {
        text.at = "customer pet";
        text.len = 12;
    }
    return text;
}

static void refuse(bertha_message *message, uint8_t kind, const char *reason, size_t len)
{
    message->verdict = BERTHA_REFUSE;
    message->refused_as = kind;
    message->reason.at = reason;
    message->reason.len = len;
}

static int32_t requests(void *engine, bertha_burst *burst)
{
    (void)engine;
    for (size_t place = 0; place < burst->count; place++) {
        bertha_message *message = &burst->messages[place];
        if (is("verdict"))
            message->verdict = 3;
        if (is("failure"))
            refuse(message, 9, "", 0);
        if (is("reason-null"))
            refuse(message, BERTHA_KIND_DENIED, NULL, 3);
        if (is("reason-long"))
            refuse(message, BERTHA_KIND_DENIED, long_reason, sizeof long_reason);
        if (is("reason-no-text"))
            refuse(message, BERTHA_KIND_DENIED, "\xff", 1);
        if (is("no-reason"))
            refuse(message, BERTHA_KIND_DENIED, NULL, 0);
        if (is("hold") || is("fail-later") || is("always-due"))
            message->verdict = BERTHA_HOLD;
        /* What follows a held request is held, too. */
        if (is("swap"))
            message->verdict = message->call % 2 ? BERTHA_PASS : BERTHA_HOLD;
    }
    if (is("always-due"))
        burst->due = 0;
    if (is("swap") && burst->count == 0)
        burst->release = SIZE_MAX;
    /* The daemon does not look at them again. */
    burst->messages = NULL;
    burst->count = is("many") ? 1000 : burst->count;
    return is("fail") || (is("fail-later") && burst->held > 0) ? BERTHA_FAILED : BERTHA_DONE;
}

static int32_t responses(void *engine, bertha_burst *burst)
{
    (void)engine;
    for (size_t place = 0; place < burst->count; place++) {
        bertha_message *message = &burst->messages[place];
        if (is("hold-outcome"))
            message->verdict = BERTHA_HOLD;
        if (is("refuse-outcome"))
            refuse(message, BERTHA_KIND_DENIED, "no", 2);
    }
    return is("fail-outcome") ? -7 : BERTHA_DONE;
}

static int32_t configure(void *engine, bertha_text settings, bertha_sink *error)
{
    (void)engine;
    (void)settings;
    (void)error;
    return BERTHA_FAILED;
}

static int32_t take_apart(void *engine, uint32_t *version, bertha_sink *state)
{
    (void)engine;
    *version = is("no-version") ? 0 : 1;
    state->write(state, kept, kept_len);
    state->write(state, NULL, 0);
    return is("keep-state") ? BERTHA_FAILED : BERTHA_DONE;
}

static int32_t restore(const bertha_binding *binding, uint32_t version, bertha_text state, void **engine, bertha_sink *error)
{
    (void)binding;
    (void)version;
    (void)responses;
    if (restored < RESTORES && state.len <= sizeof kept) {
        restored++;
        kept_len = state.len;
        memcpy(kept, state.at, state.len);
        *engine = mistake;
        return BERTHA_DONE;
    }
    error->write(error, "no state suits", 14);
    return BERTHA_FAILED;
}

static void free_engine(void *engine)
{
    (void)engine;
}

static const bertha_engine WRONG = {
    VERSION, {NAME, sizeof NAME - 1}, make, reads, requests, RESPONSES, configure, take_apart, restore, free_engine,
};

#ifndef NO_SYMBOL
const bertha_engine *bertha_engine_v1(void);
const bertha_engine *bertha_engine_v1(void)
#else
const bertha_engine *bertha_engine_v2(void);
const bertha_engine *bertha_engine_v2(void)
#endif
{
#ifdef NO_TABLE
    return (void)WRONG, NULL;
#else
    return &WRONG;
#endif
}
