//! Threads that close descriptors.

use rustix::net::sockopt::{set_socket_linger, socket_linger};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The threads at most. Several, so that a close that waits for ever holds up no other.
const THREADS: usize = 8;

/// The time after which a thread without work ends.
const IDLE: Duration = Duration::from_secs(1);

/// The stack of a thread, which only calls `close`.
const STACK: usize = 64 << 10;

struct ClosingState {
    waiting: VecDeque<OwnedFd>,
    threads: usize,
    idle: usize,
}

static STATE: Mutex<ClosingState> =
    Mutex::new(ClosingState { waiting: VecDeque::new(), threads: 0, idle: 0 });
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, ClosingState> {
    // No code that may panic runs under the lock.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes a descriptor on a thread of its own, since the peer that made it may let the close wait. Returns at once.
///
/// The limit of the process bounds how many descriptors wait to be closed.
pub fn close_aside(descriptor: OwnedFd) {
    let mut state = state();
    state.waiting.push_back(descriptor);
    if state.waiting.len() > state.idle && state.threads < THREADS {
        state.threads += 1;
        drop(state);
        let thread = std::thread::Builder::new().name("bertha-closing".into()).stack_size(STACK);
        if let Err(error) = thread.spawn(run) {
            // A thread that is there already, or the next one, closes it.
            tracing::debug!(%error, "no thread closes descriptors");
            self::state().threads -= 1;
        }
    } else {
        CHANGED.notify_one();
    }
}

fn run() {
    let mut state = self::state();
    loop {
        while let Some(descriptor) = state.waiting.pop_front() {
            drop(state);
            close(descriptor);
            state = self::state();
        }
        state.idle += 1;
        let (woken, timeout) = CHANGED.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if timeout.timed_out() && state.waiting.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}

fn close(descriptor: OwnedFd) {
    // Most of those that would wait are sockets, which then don't. The error of any other descriptor says nothing. A socket that is to abort
    // does not wait: its owner, who may have it still, wants that.
    if socket_linger(&descriptor).is_ok_and(|time| time.is_some_and(|time| !time.is_zero())) {
        let _is_over = set_socket_linger(&descriptor, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_lingering::lingering;
    use std::time::Instant;

    #[test]
    fn a_socket_that_its_owner_has_still_is_aborted_as_the_owner_wants() {
        let (owned, _receiver) = lingering();
        for (wanted, left) in
            [(Some(Duration::ZERO), Some(Duration::ZERO)), (Some(Duration::from_secs(9)), None)]
        {
            set_socket_linger(&owned, wanted).unwrap();
            close(owned.try_clone().unwrap().into());
            assert_eq!(socket_linger(&owned).unwrap(), left);
        }
    }

    #[test]
    fn descriptors_are_closed_and_threads_end() {
        let mut peers = Vec::new();
        for _ in 0..20 {
            let (sender, receiver) = lingering();
            close_aside(sender.into());
            peers.push(receiver);
        }
        let deadline = Instant::now() + Duration::from_secs(600);
        while state().threads > 0 || !state().waiting.is_empty() {
            assert!(Instant::now() < deadline, "descriptors are still being closed");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(peers);
    }
}
