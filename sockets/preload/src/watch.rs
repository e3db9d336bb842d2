//! Sockets with memory in sets of epoll.
//!
//! A socket that has memory is registered with a mark in the place of the program's data, by which its events are told from others.
//! A socket for which its other end rings wakes epoll by the kernel. A socket whose other end was told that this process is awake is
//! *hot*: it is looked at before epoll waits, and has its other end ring from then on.

mod events;

use crate::lock::{Lock, Taken};
use crate::process::{PLACES, Socket};
use crate::{doorbell, ready, real};
use bertha_sockets_machine::Edge;
pub(crate) use events::{cool, has_hot, hot, raise, read, translate, unpark};
use libc::{c_int, epoll_event};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of descriptors that can be sets.
const SETS: usize = 1 << 16;

/// The bits of a mark that tell a socket.
const NUMBERS: u64 = (1 << 16) - 1;

/// The registration of a socket.
#[derive(Clone, Copy)]
struct Watch {
    /// The set and the registered descriptor, or -1.
    set: c_int,
    fd: c_int,
    events: u32,
    data: u64,
    /// True while the kernel has the mark.
    is_marked: bool,
    is_hot: bool,
    idle: u8,
    /// True once an event has come that was to come once.
    is_spent: bool,
    /// The next hot socket of the set plus one, or zero.
    next: u32,
    edge: Edge,
}

/// A set of epoll, as far as sockets with memory are concerned.
#[derive(Clone, Copy)]
struct Set {
    /// The first hot socket plus one, or zero.
    hot: u32,
    marked: u32,
    watched: u32,
    /// The threads that the kernel has wait.
    parked: u32,
    is_nested: bool,
}

impl Set {
    const NONE: Self = Self { hot: 0, marked: 0, watched: 0, parked: 0, is_nested: false };
}

struct Watches {
    watches: [Watch; PLACES as usize],
    sets: [Set; SETS],
}

const NONE: Watch = Watch {
    set: -1,
    fd: -1,
    events: 0,
    data: 0,
    is_marked: false,
    is_hot: false,
    idle: 0,
    is_spent: false,
    next: 0,
    edge: Edge::NONE,
};

struct Shared(UnsafeCell<Watches>);

// SAFETY: all access is under the lock.
unsafe impl Sync for Shared {}

static LOCK: Lock = Lock::new();

static WATCHES: Shared =
    Shared(UnsafeCell::new(Watches { watches: [NONE; PLACES as usize], sets: [Set::NONE; SETS] }));

/// The mark without a number, random, or zero before it is needed.
static MARK: AtomicU64 = AtomicU64::new(0);

/// The lock of all sets.
pub(crate) struct Guard(());

/// Locks all sets; none if a handler of a signal interrupted the owner.
pub(crate) fn lock() -> Option<Guard> {
    match LOCK.take() {
        Taken::Free | Taken::Torn => Some(Guard(())),
        Taken::Again => None,
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        LOCK.free();
    }
}

impl Guard {
    fn all(&mut self) -> &mut Watches {
        // SAFETY: the lock, which this value proves, gives access to this thread alone.
        unsafe { &mut *WATCHES.0.get() }
    }
}

/// Takes the lock for a fork, which both sides then give back.
pub(crate) fn before_fork() -> bool {
    LOCK.take() != Taken::Again
}

/// Gives the lock back in the parent and in the child, whose thread has another number.
pub(crate) fn after_fork() {
    LOCK.free();
}

fn mark() -> u64 {
    let known = MARK.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: the call takes a number.
    let random = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const u64;
    // SAFETY: the kernel has put 16 bytes there.
    let random = if random.is_null() { 0 } else { unsafe { random.read_unaligned() } };
    let mark = (random | 1 << 63) & !NUMBERS;
    MARK.store(mark, Ordering::Relaxed);
    mark
}

/// Returns true if a socket is registered in a way that a ring can serve.
pub(crate) fn is_fit(number: u32) -> bool {
    let Some(mut guard) = lock() else { return false };
    let all = guard.all();
    let watch = &all.watches[number as usize];
    watch.set < 0 || (watch.events & UNFIT == 0 && !all.sets[watch.set as usize].is_nested)
}

/// Events whose meaning a change of the registration would change.
const UNFIT: u32 = (libc::EPOLLONESHOT | libc::EPOLLEXCLUSIVE) as u32;

/// Forgets how a socket was registered.
pub(crate) fn forget(number: u32) {
    if let Some(mut guard) = lock() {
        guard.all().remove(number);
    }
}

/// Takes out how a socket is registered. Returns the set, the descriptor, and the event that the program wants. The caller has the lock.
pub(crate) fn take_out(guard: &mut Guard, number: u32) -> Option<(c_int, c_int, epoll_event)> {
    let all = guard.all();
    let watch = all.watches[number as usize];
    all.remove(number);
    let events = if watch.is_spent { 0 } else { watch.events };
    (watch.set >= 0).then_some((watch.set, watch.fd, epoll_event { events, u64: watch.data }))
}

/// Marks the registration of a socket that has got memory. The caller has the lock. Returns false if there is no such registration.
pub(crate) fn attached(guard: &mut Guard, socket: Socket) -> bool {
    let all = guard.all();
    let watch = &mut all.watches[socket.number as usize];
    if watch.set < 0 {
        return true;
    }
    let mut event = epoll_event { events: watch.events, u64: mark() | u64::from(socket.number) };
    // SAFETY: the event lives until the call returns.
    let done = unsafe { real::epoll_ctl(watch.set, libc::EPOLL_CTL_MOD, watch.fd, &raw mut event) };
    if done == 0 {
        watch.is_marked = true;
        all.sets[watch.set as usize].marked += 1;
        all.note(socket.number);
    }
    done == 0
}

/// Returns true if a socket is registered by this descriptor.
pub(crate) fn is_registered(number: u32, fd: c_int) -> bool {
    lock().is_some_and(|mut guard| guard.all().watches[number as usize].fd == fd)
}

impl Watches {
    /// Notes a socket that is registered and not hot, for [`read`].
    fn note(&self, number: u32) {
        let watch = &self.watches[number as usize];
        IS_COLD[number as usize].store(watch.is_marked && !watch.is_hot, Ordering::Relaxed);
    }

    fn remove(&mut self, number: u32) {
        let watch = self.watches[number as usize];
        if watch.set < 0 {
            return;
        }
        let set = &mut self.sets[watch.set as usize];
        set.watched = set.watched.saturating_sub(1);
        if watch.is_marked {
            set.marked = set.marked.saturating_sub(1);
        }
        if watch.is_hot {
            self.unlink(watch.set, number);
        }
        self.watches[number as usize] = NONE;
        self.note(number);
        self.settle(watch.set);
    }

    /// Has the kernel know of bytes in rings, in a set for which it alone waits, as long as there are any.
    fn settle(&self, set: c_int) {
        let entry = &self.sets[set as usize];
        let is_in = &IN_SET[set as usize];
        if !entry.is_nested {
            return;
        }
        let mut at = entry.hot;
        while let Some(number) = at.checked_sub(1) {
            let watch = &self.watches[number as usize];
            if watch.hears() && Socket::at(number, watch.fd).is_some_and(ready::is_ready) {
                return doorbell::put(set, is_in, mark() | NUMBERS);
            }
            at = watch.next;
        }
        doorbell::remove(set, is_in);
    }

    fn unlink(&mut self, set: c_int, number: u32) {
        let next = self.watches[number as usize].next;
        let mut at = self.sets[set as usize].hot;
        if at == number + 1 {
            self.sets[set as usize].hot = next;
        }
        while let Some(index) = at.checked_sub(1) {
            let watch = &mut self.watches[index as usize];
            if watch.next == number + 1 {
                watch.next = next;
                break;
            }
            at = watch.next;
        }
        let watch = &mut self.watches[number as usize];
        (watch.is_hot, watch.next) = (false, 0);
        self.note(number);
    }

    /// Makes a socket hot that has woken a thread. Its other end rings as before if another thread waits for the same set.
    fn heat(&mut self, set: c_int, number: u32) {
        if self.sets[set as usize].parked > 0
            && let Some(socket) = Socket::at(number, self.watches[number as usize].fd)
        {
            ready::fall_asleep(socket);
        }
        let watch = &mut self.watches[number as usize];
        watch.idle = 0;
        if !watch.is_hot {
            let head = &mut self.sets[set as usize].hot;
            (watch.is_hot, watch.next) = (true, *head);
            *head = number + 1;
            self.note(number);
        }
    }
}

/// Registers a tracked socket, as `epoll_ctl` does. Returns its result, and true if the socket has to go back.
pub(crate) fn control(
    set: c_int,
    operation: c_int,
    socket: Socket,
    event: *mut epoll_event,
) -> (c_int, bool) {
    let asked = if event.is_null() || operation == libc::EPOLL_CTL_DEL {
        None
    } else {
        // SAFETY: the program gives an event for the call.
        Some(unsafe { event.read_unaligned() })
    };
    let Some(mut guard) = lock() else {
        // SAFETY: the arguments are the program's.
        return (unsafe { real::epoll_ctl(set, operation, socket.fd, event) }, false);
    };
    let all = guard.all();
    let watch = all.watches[socket.number as usize];
    let is_own = watch.set == set && watch.fd == socket.fd;
    let is_marked =
        is_own && watch.is_marked || watch.set < 0 && socket.place.state() == crate::place::State::Paired;
    let mut passed = asked;
    if let Some(passed) = &mut passed
        && is_marked
    {
        passed.u64 = mark() | u64::from(socket.number);
    }
    let pointer = passed.as_mut().map_or(event, std::ptr::from_mut);
    // SAFETY: the event is the program's, or lives until the call returns.
    let done = unsafe { real::epoll_ctl(set, operation, socket.fd, pointer) };
    if done < 0 {
        return (done, false);
    }
    let is_set = usize::try_from(set).is_ok_and(|set| set < SETS);
    let is_second = watch.set >= 0 && !is_own;
    let mut is_unfit = is_second || !is_set;
    match asked {
        None if is_own => all.remove(socket.number),
        Some(asked) if !is_unfit => {
            let entry = &mut all.watches[socket.number as usize];
            if watch.set < 0 {
                all.sets[set as usize].watched += 1;
                IS_SET[set as usize].store(true, Ordering::Relaxed);
                all.sets[set as usize].marked += u32::from(is_marked);
                *entry = Watch { set, fd: socket.fd, is_marked, ..NONE };
            }
            (entry.events, entry.data, entry.edge) = (asked.events, asked.u64, Edge::NONE);
            entry.is_spent = false;
            is_unfit = asked.events & UNFIT != 0 || all.sets[set as usize].is_nested;
            all.note(socket.number);
            // There may be bytes already.
            if all.watches[socket.number as usize].is_marked {
                all.heat(set, socket.number);
            }
        }
        _ => {}
    }
    (done, is_unfit)
}

/// Notes that a set is waited for from outside. Returns true if it has tracked sockets, which then have to go back.
pub(crate) fn set_nested(set: c_int) -> bool {
    if !is_set(set) {
        return false;
    }
    let Some(mut guard) = lock() else { return false };
    let entry = usize::try_from(set).ok().and_then(|set| guard.all().sets.get_mut(set));
    entry.filter(|entry| entry.watched > 0).map(|entry| entry.is_nested = true).is_some()
}

/// Has the kernel know of the bytes in a ring, if it alone waits for the set of a socket. It knows of those on the carrier by itself.
pub(crate) fn settle(socket: Socket) {
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    let watch = all.watches[socket.number as usize];
    if watch.set >= 0 && all.sets[watch.set as usize].is_nested {
        if watch.is_marked && ready::is_ready(socket) {
            all.heat(watch.set, socket.number);
        }
        all.settle(watch.set);
    }
}

/// Notes that bytes were taken, which may have been the last of those that the kernel knows of by [`settle`].
#[inline]
pub(crate) fn taken(socket: Socket) {
    if doorbell::is_needed() && !ready::is_ready(socket) {
        settle(socket);
    }
}

/// The registered sockets that are not hot.
static IS_COLD: [AtomicBool; PLACES as usize] = [const { AtomicBool::new(false) }; PLACES as usize];

/// Returns a socket of the set, with at least this number.
pub(crate) fn socket_of(set: c_int, from: u32) -> Option<Socket> {
    let mut guard = lock()?;
    let watches = guard.all().watches.iter().enumerate().skip(from as usize);
    let mut found = watches.filter(|(_, watch)| watch.set == set);
    // The conversion is exact, as there are fewer places.
    found.find_map(|(number, watch)| Socket::at(number as u32, watch.fd))
}

/// Forgets a descriptor that is closed now, in case it is a set.
pub(crate) fn closed(set: c_int) {
    let Ok(index) = usize::try_from(set) else { return };
    if !is_set(set) {
        return;
    }
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    for number in 0..PLACES {
        if all.watches[number as usize].set == set {
            all.remove(number);
        }
    }
    IS_SET[index].store(false, Ordering::Relaxed);
    doorbell::remove(set, &IN_SET[index]);
    all.sets[index] = Set::NONE;
}

/// Has another descriptor of a set stand for it, as the first one is closed now.
pub(crate) fn renamed(from: c_int, to: c_int) {
    let index = |set: c_int| usize::try_from(set).ok().filter(|set| *set < SETS);
    let (Some(first), Some(second)) = (index(from), index(to)) else { return closed(from) };
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    for watch in all.watches.iter_mut().filter(|watch| watch.set == from) {
        watch.set = to;
    }
    all.sets[second] = std::mem::replace(&mut all.sets[first], Set::NONE);
    for flags in [&IS_SET, &IN_SET] {
        flags[second].store(flags[first].swap(false, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The sets in which there is the descriptor that can always be read.
static IN_SET: [AtomicBool; SETS] = [const { AtomicBool::new(false) }; SETS];

/// Descriptors that are sets with tracked sockets.
static IS_SET: [AtomicBool; SETS] = [const { AtomicBool::new(false) }; SETS];

#[inline]
fn is_set(set: c_int) -> bool {
    usize::try_from(set)
        .ok()
        .and_then(|set| IS_SET.get(set))
        .is_some_and(|is_set| is_set.load(Ordering::Relaxed))
}

/// Returns true if sockets with memory are registered in the set.
pub(crate) fn has_marked(set: c_int) -> bool {
    if !is_set(set) {
        return false;
    }
    let Some(mut guard) = lock() else { return false };
    usize::try_from(set).ok().and_then(|set| guard.all().sets.get(set)).is_some_and(|set| set.marked > 0)
}

const IN: u32 = (libc::EPOLLIN | libc::EPOLLRDNORM) as u32;
const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;
const OTHERS: u32 = (libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLPRI) as u32;

impl Watch {
    /// Returns true if bytes are an event.
    fn hears(&self) -> bool {
        self.events & IN != 0 && !self.is_spent
    }

    /// Has the kernel tell of other events than before.
    fn rearm(&self, number: u32, events: u32) {
        let mut event = epoll_event { events, u64: mark() | u64::from(number) };
        // SAFETY: the event lives until the call returns.
        unsafe { real::epoll_ctl(self.set, libc::EPOLL_CTL_MOD, self.fd, &raw mut event) };
    }
}
