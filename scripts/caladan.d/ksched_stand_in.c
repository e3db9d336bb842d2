/*
 * A stand-in for Caladan's kernel module, for tests.
 *
 * The module, ksched, puts a program's kernel threads on cores, parks them and interrupts them. This program answers the same ioctls
 * and reads the same shared memory from user space: it mounts a file system that is a single file, by FUSE, over /dev/ksched. Programs
 * that were built for the module run unchanged. A switch takes two more context switches and up to POLL_US, and several cores may
 * share a processor, so nothing that is measured here says anything about Caladan's speed.
 *
 * User interrupts are refused, so Caladan sends signals; performance counters read as zero.
 *
 * usage: ksched-stand-in [-m /dev/ksched] [-p POLL_US] CPU...
 *     CPU... gives for each core that Caladan sees, in order, the processor that stands for it.
 *
 * Needs Linux 6.9 with FUSE passthrough, by which Caladan's scheduler maps memory of this process; and the rights to mount and to set
 * affinities.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The module's header is one of the kernel. */
#define __user
#define __packed __attribute__((packed))
#define __aligned(x) __attribute__((aligned(x)))
#include "ksched.h"

/* Declared by <linux/fuse.h> since Linux 6.9, which distributions' headers may be older than. */
#define INIT_EXT (1U << 30)
#define INIT_PASSTHROUGH (1U << (37 - 32)) /* in flags2 */
#define OPEN_PASSTHROUGH (1U << 7)
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)

#define MAX_CORES 256
#define MAX_PARKED 4096
#define SHARED_SIZE (MAX_CORES * sizeof(struct ksched_shm_cpu))

static const char *mount_point = "/dev/ksched";
static int fuse;
static int backing_id;

/* A kernel thread that asked to be parked, and waits for the answer to that request. */
struct parked {
	pid_t tid; /* 0: a free place */
	uint64_t request;
};

struct core {
	int processor;
	unsigned int generation; /* of the newest order that was carried out */
	pid_t running;           /* 0: idle */
};

static struct ksched_shm_cpu *shared;
static struct core cores[MAX_CORES];
static int core_count;
static struct parked parked[MAX_PARKED];

static void die(const char *doing)
{
	fprintf(stderr, "ksched-stand-in: %s: %s\n", doing, strerror(errno));
	umount2(mount_point, MNT_DETACH);
	exit(1);
}

/* --- answers ------------------------------------------------------------------------------------------------------------------ */

static void answer(uint64_t request, int error, const void *data, size_t len)
{
	struct fuse_out_header header = { .len = sizeof(header) + len, .error = error, .unique = request };
	struct iovec parts[2] = { { &header, sizeof(header) }, { (void *)data, len } };

	/* ENOENT: the asker is gone. */
	if (writev(fuse, parts, len ? 2 : 1) < 0 && errno != ENOENT && errno != ENODEV)
		fprintf(stderr, "ksched-stand-in: an answer failed: %s\n", strerror(errno));
}

static void answer_ioctl(uint64_t request, int result)
{
	struct fuse_ioctl_out out = { .result = result };

	answer(request, 0, &out, sizeof(out));
}

/* --- cores --------------------------------------------------------------------------------------------------------------------- */

static struct parked *find_parked(pid_t tid)
{
	for (int i = 0; i < MAX_PARKED; i++)
		if (parked[i].tid == tid)
			return &parked[i];
	return NULL;
}

static void park(pid_t tid, uint64_t request)
{
	struct parked *place = find_parked(0);

	if (!place) {
		answer_ioctl(request, -ENOMEM);
		return;
	}
	*place = (struct parked){ tid, request };
}

/* Has an idle core run the thread, if that is parked; answering its request lets it go on. */
static void run(int index, pid_t tid)
{
	struct core *core = &cores[index];
	struct parked *next = tid ? find_parked(tid) : NULL;
	cpu_set_t set;

	core->running = 0;
	if (!next)
		return;
	CPU_ZERO(&set);
	CPU_SET(core->processor, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		return;
	core->running = tid;
	next->tid = 0;
	answer_ioctl(next->request, index);
}

/* Carries out the scheduler's newest order for the core. */
static void obey(int index, unsigned int generation)
{
	cores[index].generation = generation;
	run(index, shared[index].tid);
	shared[index].busy = cores[index].running != 0;
	__atomic_store_n(&shared[index].last_gen, generation, __ATOMIC_RELEASE);
}

static unsigned int ordered(int index)
{
	return __atomic_load_n(&shared[index].gen, __ATOMIC_ACQUIRE);
}

static void set_idle(int index)
{
	__atomic_store_n(&shared[index].busy, 0, __ATOMIC_RELEASE);
}

/* Looks for orders to idle cores, and now and then whether a running thread has died. */
static void look_around(bool for_the_dead)
{
	for (int i = 0; i < core_count; i++) {
		if (cores[i].running) {
			if (!for_the_dead || !syscall(SYS_tkill, cores[i].running, 0) || errno != ESRCH)
				continue;
			cores[i].running = 0;
		}
		if (ordered(i) != cores[i].generation)
			obey(i, ordered(i));
		else if (shared[i].busy)
			set_idle(i);
	}
}

/* --- requests ------------------------------------------------------------------------------------------------------------------ */

static void on_park(pid_t tid, uint64_t request)
{
	park(tid, request);
	for (int i = 0; i < core_count; i++) {
		if (cores[i].running != tid)
			continue;
		if (ordered(i) != cores[i].generation) {
			obey(i, ordered(i));
		} else {
			cores[i].running = 0;
			set_idle(i);
		}
		return;
	}
}

/* The kernel has a signal for a thread that is parked. */
static void on_interrupted(uint64_t request)
{
	for (int i = 0; i < MAX_PARKED; i++) {
		if (parked[i].tid && parked[i].request == request) {
			parked[i].tid = 0;
			answer_ioctl(request, -EINTR);
			return;
		}
	}
}

/* The scheduler wants threads on some cores interrupted, or counters read. */
static void on_interrupt_cores(pid_t from, uint64_t request, const struct ksched_intr_req *wanted)
{
	unsigned long mask[MAX_CORES / 64] = { 0 };
	size_t len = wanted->len < sizeof(mask) ? wanted->len : sizeof(mask);
	struct iovec here = { mask, len }, there = { (void *)wanted->mask, len };

	if (process_vm_readv(from, &here, 1, &there, 1, 0) < 0) {
		answer_ioctl(request, -EFAULT);
		return;
	}
	for (int i = 0; i < core_count; i++) {
		if (!(mask[i / 64] >> (i % 64) & 1))
			continue;
		if (__atomic_load_n(&shared[i].sig, __ATOMIC_ACQUIRE) == cores[i].generation) {
			if (cores[i].running)
				syscall(SYS_tkill, cores[i].running, shared[i].signum);
			__atomic_store_n(&shared[i].sig, 0, __ATOMIC_RELEASE);
		}
		if (__atomic_load_n(&shared[i].pmc, __ATOMIC_ACQUIRE)) {
			shared[i].pmcval = 0;
			shared[i].pmctsc = __builtin_ia32_rdtsc();
			__atomic_store_n(&shared[i].pmc, 0, __ATOMIC_RELEASE);
		}
	}
	answer_ioctl(request, 0);
}

static void on_ioctl(const struct fuse_in_header *from, const struct fuse_ioctl_in *in)
{
	switch (in->cmd) {
	case KSCHED_IOC_GET_SCHED_API_VER:
		answer_ioctl(from->unique, KSCHED_SCHED_API_VER);
		return;
	case KSCHED_IOC_GET_USER_API_VER:
		answer_ioctl(from->unique, KSCHED_USER_API_VER);
		return;
	case KSCHED_IOC_GETTID:
		answer_ioctl(from->unique, from->pid);
		return;
	case KSCHED_IOC_START:
		park(from->pid, from->unique);
		return;
	case KSCHED_IOC_PARK:
		on_park(from->pid, from->unique);
		return;
	case KSCHED_IOC_INTR:
		if (from->uid != 0)
			answer_ioctl(from->unique, -EACCES);
		else
			on_interrupt_cores(from->pid, from->unique, (const struct ksched_intr_req *)(in + 1));
		return;
	case KSCHED_IOC_UINTR_SETUP_USER:
	case KSCHED_IOC_UINTR_SETUP_ADMIN:
	case KSCHED_IOC_UINTR_MULTICAST:
		answer_ioctl(from->unique, -EOPNOTSUPP);
		return;
	default:
		answer_ioctl(from->unique, -ENOTTY);
	}
}

static void on_init(uint64_t request, const struct fuse_init_in *in)
{
	/* As long as the newest form that the kernel knows; what older headers do not name stays zero, but for one number. */
	uint32_t out[sizeof(struct fuse_init_out) / 4] = { 0 };
	struct fuse_init_out *named = (struct fuse_init_out *)out;
	const int max_stack_depth = 9;

	if (in->minor < 40 || !(in->flags & INIT_EXT) || !(in->flags2 & INIT_PASSTHROUGH)) {
		errno = EOPNOTSUPP;
		die("this kernel has no FUSE passthrough");
	}
	named->major = FUSE_KERNEL_VERSION;
	named->minor = 40;
	named->flags = INIT_EXT;
	named->flags2 = INIT_PASSTHROUGH;
	named->max_write = 4096;
	named->time_gran = 1;
	out[max_stack_depth] = 1;
	answer(request, 0, out, sizeof(out));
}

static void on_request(const struct fuse_in_header *from, const void *body)
{
	switch (from->opcode) {
	case FUSE_INIT:
		on_init(from->unique, body);
		return;
	case FUSE_GETATTR:
	case FUSE_SETATTR: {
		struct fuse_attr_out out = {
			.attr_valid = 1 << 30,
			.attr = { .ino = 1, .size = SHARED_SIZE, .mode = S_IFREG | 0666, .nlink = 1, .blksize = 4096 },
		};
		answer(from->unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_OPEN: {
		/* The number of the backing file stands where older headers have padding. */
		struct fuse_open_out out = { .open_flags = OPEN_PASSTHROUGH, .padding = backing_id };
		answer(from->unique, 0, &out, sizeof(out));
		return;
	}
	case FUSE_IOCTL:
		on_ioctl(from, body);
		return;
	case FUSE_INTERRUPT:
		on_interrupted(((const struct fuse_interrupt_in *)body)->unique);
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(from->unique, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return;
	default:
		answer(from->unique, -ENOSYS, NULL, 0);
	}
}

/* Answers all requests that are there. */
static void serve(void)
{
	static unsigned char buffer[65536] __attribute__((aligned(8)));

	for (;;) {
		ssize_t len = read(fuse, buffer, sizeof(buffer));

		if (len < 0 && errno == ENODEV)
			exit(0); /* unmounted */
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (len < (ssize_t)sizeof(struct fuse_in_header))
			die("read");
		on_request((struct fuse_in_header *)buffer, buffer + sizeof(struct fuse_in_header));
	}
}

static void on_signal(int number)
{
	(void)number;
	umount2(mount_point, MNT_DETACH);
	_exit(0);
}

static int make_shared_memory(void)
{
	int fd = memfd_create("ksched", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, SHARED_SIZE))
		die("memory");
	/* Of the memfd rather than of the mounted file: a FUSE server that maps its own file can't exit. */
	shared = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die("memory");
	return fd;
}

static void mount_file(void)
{
	char options[128];

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fuse < 0)
		die("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other", fuse);
	if (mount("ksched", mount_point, "fuse", MS_NOSUID | MS_NODEV, options))
		die(mount_point);
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0, 50 * 1000 };
	struct sched_param real_time = { .sched_priority = 1 };
	struct backing_map map = { 0 };
	struct pollfd requests = { .events = POLLIN };
	int option;

	while ((option = getopt(argc, argv, "m:p:")) != -1) {
		if (option == 'm')
			mount_point = optarg;
		else if (option == 'p')
			pause.tv_nsec = atol(optarg) * 1000;
		else
			return 2;
	}
	for (; optind < argc && core_count < MAX_CORES; optind++)
		cores[core_count++].processor = atoi(argv[optind]);
	if (!core_count) {
		fprintf(stderr, "usage: ksched-stand-in [-m PATH] [-p POLL_US] CPU...\n");
		return 2;
	}

	map.fd = make_shared_memory();
	mount_file();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);

	/* The kernel introduces itself first; only then does it take a backing file. */
	requests.fd = fuse;
	poll(&requests, 1, -1);
	serve();
	backing_id = ioctl(fuse, BACKING_OPEN, &map);
	if (backing_id < 0)
		die("backing file");

	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_FIFO, &real_time))
		fprintf(stderr, "ksched-stand-in: no real-time priority: %s\n", strerror(errno));
	printf("ksched-stand-in: %d cores at %s\n", core_count, mount_point);
	fflush(stdout);
	for (unsigned int round = 1;; round++) {
		if (ppoll(&requests, 1, &pause, NULL) > 0)
			serve();
		look_around(round % 64 == 0);
	}
}
