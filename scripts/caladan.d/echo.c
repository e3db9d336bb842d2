/*
 * An echo on Caladan's own API, with which bertha-bench compares Bertha's: both ends are green threads of one runtime, so that neither the
 * scheduler nor a wire takes part, and the processor time of a message is all that is measured.
 *
 *   echo-by-hand CONFIG BYTES IN_FLIGHT [EACH] MESSAGES
 *
 * prints how many messages per second arrived. All of them come back; or, with EACH, one byte for each so many, as when a file goes one way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/log.h>
#include <base/time.h>
#include <runtime/runtime.h>
#include <runtime/thread.h>
#include <runtime/udp.h>

#define PORT 7

static size_t bytes, in_flight, each;
static unsigned long messages;

static void fail(const char *doing)
{
	fprintf(stderr, "echo-by-hand: %s failed\n", doing);
	exit(1);
}

static void serve(void *arg)
{
	udpconn_t *socket = arg;
	char message[1472];
	size_t left = each;

	for (;;) {
		struct netaddr from;
		ssize_t len = udp_read_from(socket, message, sizeof(message), &from);
		if (--left && len > 0)
			continue;
		left = each;
		if (each > 1 && len > 0)
			len = 1;
		if (len <= 0 || udp_write_to(socket, message, len, &from) != len)
			fail("echoing");
	}
}

static void keep_in_flight(udpconn_t *socket, unsigned long count)
{
	char message[1472] = { 7 };
	unsigned long sent, received;

	ssize_t answer = each > 1 ? 1 : bytes;

	for (sent = 0; sent < in_flight; sent++) {
		if (udp_write(socket, message, bytes) != (ssize_t)bytes)
			fail("sending");
	}
	for (received = 0; received < count; received += each) {
		size_t more;
		if (udp_read(socket, message, sizeof(message)) != answer)
			fail("receiving");
		for (more = 0; more < each && sent < count; more++, sent++) {
			if (udp_write(socket, message, bytes) != (ssize_t)bytes)
				fail("sending");
		}
	}
}

static void run(void *arg)
{
	struct netaddr local = { 0, PORT }, any = { 0, 0 };
	udpconn_t *listening, *socket;
	uint64_t begin;

	if (udp_listen(local, &listening) || thread_spawn(serve, listening))
		fail("listening");
	local.ip = MAKE_IP_ADDR(127, 0, 0, 1);
	if (udp_dial(any, local, &socket))
		fail("connecting");
	keep_in_flight(socket, messages / 10);
	begin = microtime();
	keep_in_flight(socket, messages);
	printf("%f\n", messages * 1e6 / (microtime() - begin));
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: echo-by-hand CONFIG BYTES IN_FLIGHT [EACH] MESSAGES\n");
		return 2;
	}
	bytes = strtoul(argv[2], NULL, 10);
	in_flight = strtoul(argv[3], NULL, 10);
	each = argc == 6 ? strtoul(argv[4], NULL, 10) : 1;
	messages = strtoul(argv[argc - 1], NULL, 10);
	if (bytes > 1472 || in_flight > 500 || !each || in_flight % each || messages % (10 * each)) {
		fprintf(stderr, "echo-by-hand: at most 1472 bytes, 500 messages in flight, and whole tens of EACH\n");
		return 2;
	}
	max_loglevel = 1;
	runtime_init(argv[1], run, NULL);
	return 1;
}
