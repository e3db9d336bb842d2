//! The calls of libc behind these.

use libc::{
    c_char, c_int, c_uint, c_void, epoll_event, fd_set, iovec, mmsghdr, msghdr, nfds_t, off_t, pid_t, pollfd,
    posix_spawn_file_actions_t, posix_spawnattr_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec,
    timeval,
};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Returns the function of this name behind this library.
#[inline]
fn behind(kept: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    let found = kept.load(Ordering::Relaxed);
    if found.is_null() { look_up(kept, name) } else { found }
}

#[cold]
fn look_up(kept: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    // SAFETY: the name ends by a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) };
    if found.is_null() {
        // A program calls a function that its libc has not: it would not have started without this library.
        // SAFETY: always safe.
        unsafe { libc::abort() };
    }
    kept.store(found, Ordering::Relaxed);
    found
}

macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// Functions that were looked up.
        #[allow(non_upper_case_globals, reason = "they have the names of the functions")]
        mod kept {
            use std::sync::atomic::AtomicPtr;

            $(pub(super) static $name: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());)*
        }

        $(
            /// Calls the function of libc.
            ///
            /// # Safety
            /// What libc says of the function.
            #[inline]
            pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
                let found = behind(&kept::$name, concat!(stringify!($name), "\0"));
                // SAFETY: libc's function of this name has this type.
                let call: unsafe extern "C-unwind" fn($($type),*) -> $result = unsafe { std::mem::transmute(found) };
                // SAFETY: the caller keeps what libc says.
                unsafe { call($($argument),*) }
            }
        )*

        /// Looks all functions up which every libc has, so that no call has to later.
        pub(crate) fn look_all_up() {
            $(
                // SAFETY: the name ends by a zero.
                let found = unsafe {
                    libc::dlsym(libc::RTLD_NEXT, concat!(stringify!($name), "\0").as_ptr().cast())
                };
                kept::$name.store(found, Ordering::Relaxed);
            )*
        }
    };
}

real! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    accept4(fd: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int;
    bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int;
    listen(fd: c_int, backlog: c_int) -> c_int;
    getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int;
    getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int;
    connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int;
    read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t;
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    recvfrom(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int, address: *mut sockaddr, address_len: *mut socklen_t) -> ssize_t;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
    write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t;
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    sendto(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int, address: *const sockaddr, address_len: socklen_t) -> ssize_t;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t;
    splice(from: c_int, from_at: *mut off_t, to: c_int, to_at: *mut off_t, len: size_t, flags: c_uint) -> ssize_t;
    close(fd: c_int) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    shutdown(fd: c_int, how: c_int) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, to: c_int) -> c_int;
    dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
    fstat(fd: c_int, about: *mut c_void) -> c_int;
    fstat64(fd: c_int, about: *mut c_void) -> c_int;
    ioctl(fd: c_int, request: libc::c_ulong, argument: usize) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int;
    poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    epoll_wait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int;
    epoll_pwait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    epoll_pwait2(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    fork() -> pid_t;
    _exit(status: c_int) -> ();
    execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    execv(path: *const c_char, arguments: *const *const c_char) -> c_int;
    execvp(path: *const c_char, arguments: *const *const c_char) -> c_int;
    execvpe(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    fexecve(fd: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    execveat(folder: c_int, path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char, flags: c_int) -> c_int;
    posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int;
    posix_spawnp(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int;
    posix_spawn_file_actions_init(actions: *mut posix_spawn_file_actions_t) -> c_int;
    posix_spawn_file_actions_destroy(actions: *mut posix_spawn_file_actions_t) -> c_int;
    posix_spawn_file_actions_adddup2(actions: *mut posix_spawn_file_actions_t, fd: c_int, to: c_int) -> c_int;
    system(command: *const c_char) -> c_int;
    popen(command: *const c_char, mode: *const c_char) -> *mut c_void;
    fdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    longjmp(to: *mut c_void, value: c_int) -> !;
    _longjmp(to: *mut c_void, value: c_int) -> !;
    siglongjmp(to: *mut c_void, value: c_int) -> !;
    __longjmp_chk(to: *mut c_void, value: c_int) -> !;
    syscall(number: libc::c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> libc::c_long;
}
