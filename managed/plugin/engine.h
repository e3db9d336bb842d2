/*
 * Engines of operators: policies on the calls that bertha-rpcd passes on, in a shared library.
 *
 * A library exports one function, bertha_engine_v1, which returns a table of functions. `bertha rpcd load PATH` opens the library, and then
 * `bertha rpcd add SERVICE NAME` makes engines of it, one for each caller of a service. An example is pace.c in examples/engine.
 *
 * A library is a part of the daemon, and as trusted as the daemon. Mistakes that can be seen are told by name: an engine that gives a verdict
 * that there is none of, or fails, has that call refused.
 *
 * - No function may unwind: no C++ exception, no Rust panic, no longjmp may leave it.
 * - No function may block: the daemon does not work meanwhile.
 * - Functions of one engine are called one at a time, by any thread. `make` and `restore` may be called at several threads at once.
 * - What a function gets by a pointer is there until the function returns. What an engine hands out by a pointer has to be there until the
 *   next call of a function of the engine.
 * - Texts are UTF-8, and have no zero at their end.
 */
#ifndef BERTHA_ENGINE_H
#define BERTHA_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Another version has another symbol, too. */
#define BERTHA_ENGINE_VERSION 1

/* Longest reason of a refusal, in bytes. */
#define BERTHA_LONGEST_REASON 1024

/* Number of values that a request may have in the fields that an engine reads. A request with more is refused before the engine sees it. */
#define BERTHA_MOST_VALUES 4096

/* No time, for `due`. */
#define BERTHA_NEVER UINT64_MAX

/* What a function returns. */
#define BERTHA_DONE 0
#define BERTHA_FAILED 1

typedef struct bertha_text {
    const char *at;
    size_t len;
} bertha_text;

/* A place to which the daemon lets text or bytes be written, one piece behind the other. */
typedef struct bertha_sink {
    void (*write)(struct bertha_sink *sink, const void *bytes, size_t len);
} bertha_sink;

/* The calls of an engine: those of one caller of one service. */
typedef struct bertha_binding {
    bertha_text service;
    bertha_text caller;
    /* The names of the methods, such as hotel.Hotel/Reserve, by their numbers. There are none while no application is there: such an engine
       gets no calls, and is made so that settings are checked. */
    const bertha_text *methods;
    size_t method_count;
} bertha_binding;

/* Kinds of values. */
#define BERTHA_TEXT 0
#define BERTHA_BYTES 1
#define BERTHA_SIGNED 2
#define BERTHA_UNSIGNED 3
#define BERTHA_FRACTION 4
#define BERTHA_BOOL 5

/* A value of a field that the engine reads. A field that repeats has several, and one that is absent has none. */
typedef struct bertha_value {
    /* The place of the field's path among those that the engine reads for the method. */
    uint32_t field;
    uint32_t kind;
    union {
        int64_t i;  /* BERTHA_SIGNED */
        uint64_t u; /* BERTHA_UNSIGNED, and BERTHA_BOOL: 0 or 1 */
        double f;   /* BERTHA_FRACTION */
    } number;
    bertha_text text; /* BERTHA_TEXT and BERTHA_BYTES */
} bertha_value;

/* Kinds of messages. */
#define BERTHA_REQUEST 0
#define BERTHA_CANCELLATION 1 /* The caller wants no outcome any more. */
#define BERTHA_RESPONSE 2
#define BERTHA_FAILURE 3

/* Verdicts. A request behind a held one is held, too, unless it is refused, so that no request passes another. A cancellation can only pass. An
   outcome can pass, or be refused: then its caller gets a failure in its place. */
#define BERTHA_PASS 0
#define BERTHA_REFUSE 1
#define BERTHA_HOLD 2

/* Kinds of failures. */
#define BERTHA_KIND_FAILED 0
#define BERTHA_KIND_OVERLOADED 1
#define BERTHA_KIND_TIMED_OUT 2
#define BERTHA_KIND_UNKNOWN_METHOD 3
#define BERTHA_KIND_MALFORMED 4
#define BERTHA_KIND_TOO_LARGE 5
#define BERTHA_KIND_DISCONNECTED 6
#define BERTHA_KIND_DENIED 7
#define BERTHA_KIND_UNAVAILABLE 8

typedef struct bertha_message {
    /* The number of the call. Two calls under way have two numbers. */
    uint64_t call;
    /* The number of the method; zero in a cancellation. */
    uint32_t method;
    /* Number of bytes that the message takes in memory. */
    uint32_t bytes;
    /* The values of the fields that the engine reads; only a request has any. */
    const bertha_value *values;
    size_t value_count;
    uint8_t kind;
    /* The kind of failure of a BERTHA_FAILURE. */
    uint8_t failure;
    /* For the engine to write: the verdict, which is BERTHA_PASS before; and with BERTHA_REFUSE the kind of failure and a text for people. */
    uint8_t verdict;
    uint8_t refused_as;
    bertha_text reason;
} bertha_message;

typedef struct bertha_burst {
    bertha_message *messages;
    size_t count;
    /* Nanoseconds since a beginning that is the same for all calls of an engine, also behind an upgrade. */
    uint64_t now;
    /* Number of requests that the engine holds, without those whose cancellations are in this burst. */
    size_t held;
    /* For the engine to write: the number of held requests, also of those that it begins to hold with this burst, that go on now, the oldest
       first. More than there are means all. Zero before. Of outcomes it is not looked at. */
    size_t release;
    /* For the engine to write: the time at which it has to be asked again even if there are no messages; BERTHA_NEVER before. Of outcomes it is
       not looked at. A time that has come is put off by a millisecond. */
    uint64_t due;
} bertha_burst;

typedef struct bertha_engine {
    /* BERTHA_ENGINE_VERSION */
    uint32_t version;

    /* The name of the kind of engine: small letters, digits and hyphens, at most 64. */
    bertha_text name;

    /* Makes an engine of settings such as "per-second=10 burst=1", or tells why not. */
    int32_t (*make)(const bertha_binding *binding, bertha_text settings, void **engine, bertha_sink *error);

    /* Returns the paths of the fields that the engine reads in the requests of a method, with a space between two: "customer.name nights". It
       is asked once for each method, behind `make` and `restore`. A path that no method has is a mistake; one that some methods lack is not. */
    bertha_text (*reads)(void *engine, uint32_t method);

    /* Gives verdicts on requests and cancellations. The burst may be empty. An engine that fails has all its requests refused, held ones too. */
    int32_t (*requests)(void *engine, bertha_burst *burst);

    /* Gives verdicts on responses and failures. An engine that fails has all of them refused. */
    int32_t (*responses)(void *engine, bertha_burst *burst);

    /* Changes the settings that are named, or tells why not, and has then changed nothing. */
    int32_t (*configure)(void *engine, bertha_text settings, bertha_sink *error);

    /* Writes the engine's state, with a version of its format above zero. Then the engine is freed. The daemon keeps the requests that it held,
       for the engine that is restored, or lets them go on. */
    int32_t (*take_apart)(void *engine, uint32_t *version, bertha_sink *state);

    /* Makes an engine of the state of another, of this version of the library or another, or tells why not. */
    int32_t (*restore)(const bertha_binding *binding, uint32_t version, bertha_text state, void **engine, bertha_sink *error);

    /* Frees an engine. */
    void (*free)(void *engine);
} bertha_engine;

/* The function that a library exports. What it returns stays as it is for ever. */
const bertha_engine *bertha_engine_v1(void);

#ifdef __cplusplus
}
#endif

#endif
