/* The functions of Caladan that the datapath calls: inline ones as functions, structures opaque, addresses as numbers of the host's order. */
#include <base/stddef.h>
#include <base/log.h>
#include <base/time.h>
#include <runtime/net.h>
#include <runtime/preempt.h>
#include <runtime/runtime.h>
#include <runtime/tcp.h>
#include <runtime/thread.h>
#include <runtime/timer.h>
#include <runtime/udp.h>

/*
 * Whether this is a kernel thread of the runtime. Caladan's own variables can't tell: they are found by the register GS, which a thread
 * that a green thread starts inherits.
 */
static __thread bool of_caladan;

static int mark_thread(void)
{
	of_caladan = true;
	return 0;
}

bool bertha_caladan_on_caladan(void) { return of_caladan; }

int bertha_caladan_start(const char *config, thread_fn_t entry, void *arg)
{
	runtime_set_initializers(NULL, mark_thread, NULL);
	return runtime_init(config, entry, arg);
}

void bertha_caladan_set_log_level(int level) { max_loglevel = level; }
void bertha_caladan_set_window(uint32_t bytes) { tcp_set_default_window(bytes); }

/* --- threads and time --- */

void bertha_caladan_preempt_disable(void) { preempt_disable(); }
void bertha_caladan_preempt_enable(void) { preempt_enable(); }
void *bertha_caladan_thread_self(void) { return thread_self(); }
int bertha_caladan_thread_spawn(thread_fn_t fn, void *arg) { return thread_spawn(fn, arg); }
void bertha_caladan_thread_ready(void *thread) { thread_ready(thread); }
void bertha_caladan_thread_park(void) { thread_park_and_preempt_enable(); }
void bertha_caladan_thread_yield(void) { thread_yield(); }
uint64_t bertha_caladan_microtime(void) { return microtime(); }

void *bertha_caladan_timer_new(timer_fn_t fn, unsigned long arg)
{
	struct timer_entry *timer = malloc(sizeof(*timer));
	if (timer)
		timer_init(timer, fn, arg);
	return timer;
}

void bertha_caladan_timer_start(void *timer, uint64_t deadline) { timer_start(timer, deadline); }
bool bertha_caladan_timer_cancel(void *timer) { return timer_cancel(timer); }

/* --- UDP --- */

int bertha_caladan_udp_dial(uint32_t ip, uint16_t port, uint32_t peer_ip, uint16_t peer_port, udpconn_t **out)
{
	struct netaddr local = { ip, port }, peer = { peer_ip, peer_port };
	return __udp_dial(local, peer, out, NULL);
}

/* Without a reservation a second listener at the port would succeed. */
int bertha_caladan_udp_listen(uint32_t ip, uint16_t port, udpconn_t **out)
{
	struct netaddr local = { ip, port };
	bind_token_t *token;
	int error = udp_reserve_port(&local, false, &token);
	if (error)
		return error;
	error = __udp_listen(local, out, token);
	if (error)
		udp_release_port(token);
	return error;
}

ssize_t bertha_caladan_udp_read(udpconn_t *c, void *buf, size_t len, uint32_t *ip, uint16_t *port)
{
	struct netaddr from = { 0, 0 };
	ssize_t result = udp_read_from2(c, buf, len, &from, false, true);
	*ip = from.ip;
	*port = from.port;
	return result;
}

/* The two calls of each message look for the thread by themselves: another call would cost more than the look. */
ssize_t bertha_caladan_udp_receive(udpconn_t *c, void *buf, size_t len)
{
	return of_caladan ? udp_read_from2(c, buf, len, NULL, false, true) : -EOPNOTSUPP;
}

ssize_t bertha_caladan_udp_send(udpconn_t *c, const void *buf, size_t len)
{
	return of_caladan ? udp_write_to2(c, buf, len, NULL, true) : -EOPNOTSUPP;
}

void bertha_caladan_udp_shutdown(udpconn_t *c) { udp_shutdown(c); }

void bertha_caladan_udp_local(udpconn_t *c, uint32_t *ip, uint16_t *port)
{
	struct netaddr local = udp_local_addr(c);
	*ip = local.ip;
	*port = local.port;
}

void bertha_caladan_udp_notify(udpconn_t *c, poll_notif_fn_t set, poll_notif_fn_t clear, unsigned long data)
{
	udp_poll_install_cb(c, set, clear, data);
}

unsigned int bertha_caladan_udp_payload(void) { return udp_get_payload_size(); }
void bertha_caladan_udp_close(udpconn_t *c) { udp_close(c); }

/* --- TCP --- */

int bertha_caladan_tcp_dial(uint32_t peer_ip, uint16_t peer_port, tcpconn_t **out)
{
	struct netaddr local = { 0, 0 }, peer = { peer_ip, peer_port };
	int error = __tcp_dial(local, peer, out, true, NULL);
	return error == -EINPROGRESS ? 0 : error;
}

/*
 * Caladan says that a connection is established, or has failed, before it makes it so, and tells its status without the lock under which it
 * does both. Who is woken and asks in between would find no change, and nothing would wake them again. This takes the lock once before.
 */
int bertha_caladan_tcp_status(tcpconn_t *c)
{
	tcp_get_input_bytes(c);
	return tcp_get_status(c);
}

ssize_t bertha_caladan_tcp_read(tcpconn_t *c, void *buf, size_t len) { return tcp_read2(c, buf, len, false, true); }
ssize_t bertha_caladan_tcp_write(tcpconn_t *c, const struct iovec *parts, int count) { return tcp_writev2(c, parts, count, true); }
int bertha_caladan_tcp_shutdown(tcpconn_t *c) { return tcp_shutdown(c, SHUT_WR); }
void bertha_caladan_tcp_close(tcpconn_t *c) { tcp_close(c); }

void bertha_caladan_tcp_addresses(tcpconn_t *c, uint32_t *ip, uint16_t *port, uint32_t *peer_ip, uint16_t *peer_port)
{
	struct netaddr local = tcp_local_addr(c), peer = tcp_remote_addr(c);
	*ip = local.ip;
	*port = local.port;
	*peer_ip = peer.ip;
	*peer_port = peer.port;
}

void bertha_caladan_tcp_notify(tcpconn_t *c, poll_notif_fn_t set, poll_notif_fn_t clear, unsigned long data)
{
	tcp_poll_install_cb(c, set, clear, data);
}

int bertha_caladan_tcp_listen(uint32_t ip, uint16_t port, int backlog, tcpqueue_t **out)
{
	struct netaddr local = { ip, port };
	bind_token_t *token;
	int error = tcp_reserve_port(&local, false, &token);
	if (error)
		return error;
	error = __tcp_listen(local, backlog, out, token);
	if (error) {
		tcp_release_port(token);
		return error;
	}
	tcpq_set_nonblocking(*out, true);
	return 0;
}

int bertha_caladan_tcp_accept(tcpqueue_t *q, tcpconn_t **out) { return tcp_accept(q, out); }

void bertha_caladan_tcp_queue_local(tcpqueue_t *q, uint32_t *ip, uint16_t *port)
{
	struct netaddr local = tcpq_local_addr(q);
	*ip = local.ip;
	*port = local.port;
}

void bertha_caladan_tcp_queue_notify(tcpqueue_t *q, poll_notif_fn_t set, poll_notif_fn_t clear, unsigned long data)
{
	tcpq_poll_install_cb(q, set, clear, data);
}

void bertha_caladan_tcp_queue_close(tcpqueue_t *q) { tcp_qclose(q); }
