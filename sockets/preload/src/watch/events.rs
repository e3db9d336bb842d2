//! Events of sockets with memory: of those that are hot, and of those for which the kernel speaks.

use super::{EDGE, IN, IS_COLD, MARK, NUMBERS, ONCE, OTHERS, Watch, Watches, lock};
use crate::process::Socket;
use crate::{kernel, ready, transmit};
use libc::{c_int, epoll_event};
use std::sync::atomic::Ordering;

/// The rounds without bytes after which a socket is hot no more.
const COLD: u8 = 16;

/// Returns true if the set has hot sockets.
pub(crate) fn has_hot(set: c_int) -> bool {
    lock().is_some_and(|mut guard| guard.all().sets[set as usize].hot != 0)
}

/// Writes events of hot sockets, at most as many as there is room for. Returns their number. A look that `counts` is one of the rounds after
/// which a socket is hot no more.
pub(crate) fn hot(set: c_int, events: &mut [epoll_event], counts: bool) -> usize {
    let Some(mut guard) = lock() else { return 0 };
    let all = guard.all();
    let mut found = 0;
    let (mut at, mut last) = (all.sets[set as usize].hot, 0);
    while let Some(number) = at.checked_sub(1) {
        if found == events.len() {
            all.rotate(set, last);
            break;
        }
        last = at;
        let watch = &mut all.watches[number as usize];
        at = watch.next;
        let Some(socket) = Socket::at(number, watch.fd) else {
            all.unlink(set, number);
            continue;
        };
        transmit::answer(socket);
        if report(watch, socket) {
            watch.idle = 0;
            // The kernel tells of all that there is in one event.
            let others = watch.events & OTHERS;
            let others = if others == 0 { 0 } else { kernel::events(socket.fd, others as i16) as u32 };
            let error = if ready::has_error(socket) { libc::EPOLLERR as u32 } else { 0 };
            watch.is_spent = watch.events & ONCE != 0;
            events[found] = epoll_event { events: watch.events & IN | others | error, u64: watch.data };
            found += 1;
            if watch.is_spent {
                watch.rearm(number, ONCE);
            }
        } else if counts {
            watch.idle = watch.idle.saturating_add(1);
            if watch.idle > COLD && ready::fall_asleep(socket) {
                all.unlink(set, number);
            }
        }
    }
    if found == 0 && counts {
        all.settle(set);
    }
    found
}

fn report(watch: &mut Watch, socket: Socket) -> bool {
    watch.hears()
        && match watch.events & EDGE {
            0 => ready::is_ready(socket),
            _ => ready::is_news(socket, &mut watch.edge),
        }
}

impl Watches {
    /// Puts the hot sockets behind `last` before the others, so that each has its turn.
    fn rotate(&mut self, set: c_int, last: u32) {
        let Some(last) = last.checked_sub(1) else { return };
        let first = self.sets[set as usize].hot;
        let rest = std::mem::take(&mut self.watches[last as usize].next);
        let mut at = rest;
        while let Some(number) = at.checked_sub(1) {
            at = self.watches[number as usize].next;
            if at == 0 {
                self.watches[number as usize].next = first;
                self.sets[set as usize].hot = rest;
                return;
            }
        }
    }
}

/// Has the other ends of hot sockets ring for the next bytes.
pub(crate) fn raise(set: c_int) {
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    let mut at = all.sets[set as usize].hot;
    while let Some(number) = at.checked_sub(1) {
        let watch = &all.watches[number as usize];
        at = watch.next;
        if let Some(socket) = Socket::at(number, watch.fd) {
            ready::fall_asleep(socket);
        }
    }
}

/// Counts a thread out that the kernel had wait.
pub(crate) fn unpark(set: c_int) {
    if let Some(mut guard) = lock() {
        let parked = &mut guard.all().sets[set as usize].parked;
        *parked = parked.saturating_sub(1);
    }
}

/// Has no socket of the set be hot, since all are rung for, and counts a thread that the kernel has wait.
pub(crate) fn cool(set: c_int) {
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    all.sets[set as usize].parked += 1;
    let mut at = std::mem::take(&mut all.sets[set as usize].hot);
    while let Some(number) = at.checked_sub(1) {
        let watch = &mut all.watches[number as usize];
        at = std::mem::take(&mut watch.next);
        watch.is_hot = false;
        all.note(number);
    }
}

/// Turns marked events of the kernel into those of the program, behind `before` events that are there already. Returns the number of all.
pub(crate) fn translate(set: c_int, events: &mut [epoll_event], before: usize) -> usize {
    let mark = MARK.load(Ordering::Relaxed);
    let is_marked = |event: &epoll_event| mark != 0 && { event.u64 } & !NUMBERS == mark;
    if !events[before..].iter().any(is_marked) {
        return events.len();
    }
    let Some(mut guard) = lock() else { return before };
    let all = guard.all();
    let mut kept = before;
    for at in before..events.len() {
        let mut event = events[at];
        if is_marked(&event) {
            let number = ({ event.u64 } & NUMBERS) as u32;
            let Some(watch) = all.watches.get_mut(number as usize).filter(|watch| watch.set == set) else {
                continue;
            };
            if watch.is_spent {
                continue;
            }
            event.u64 = watch.data;
            let socket = Socket::at(number, watch.fd);
            if socket.is_some_and(ready::has_error) {
                event.events |= libc::EPOLLERR as u32;
            }
            if let Some(socket) = socket
                && { event.events } & IN != 0
            {
                if !ready::is_readable(socket) {
                    event.events &= !IN;
                }
                if watch.events & EDGE != 0 {
                    ready::is_news(socket, &mut watch.edge);
                }
                all.heat(set, number);
            }
            if { event.events } & !(EDGE) == 0 {
                // It was a bell alone, and what was to come once has not come.
                if all.watches[number as usize].events & ONCE != 0 {
                    all.watches[number as usize].rearm(number, all.watches[number as usize].events);
                }
                continue;
            }
            let watch = &mut all.watches[number as usize];
            watch.is_spent = watch.events & ONCE != 0;
            if let Some(other) = events[..before].iter_mut().find(|other| { other.u64 } == { event.u64 }) {
                other.events |= event.events;
                continue;
            }
        }
        events[kept] = event;
        kept += 1;
    }
    kept
}

/// Makes a socket hot whose other end takes this process for awake. A read has taken the bell of which the set would have told, so nobody would
/// ring for the next bytes.
#[inline]
pub(crate) fn read(socket: Socket) {
    if IS_COLD[socket.number as usize].load(Ordering::Relaxed) && !ready::is_asleep(socket) {
        awake(socket);
    }
}

#[cold]
fn awake(socket: Socket) {
    let Some(mut guard) = lock() else { return };
    let all = guard.all();
    let watch = all.watches[socket.number as usize];
    if watch.set >= 0 && watch.is_marked {
        all.heat(watch.set, socket.number);
    }
}
