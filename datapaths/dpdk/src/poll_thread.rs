//! Threads that poll when no future does.

use crate::config::Polling;
use crate::eal::enter_thread;
use crate::failure::failure;
use crate::queue::Queue;
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time for which a queue may remain without a polling future.
const TICK: Duration = Duration::from_millis(1);

/// Time between two visits if no future waits: pings and neighbours can wait a little.
const IDLE_TICK: Duration = Duration::from_millis(5);

/// Number of futile polls after which a polling thread lets other threads run.
const IDLE: u32 = 256;

/// The threads of a port. With [`Polling::Inline`], a single thread polls while no future does, so that
/// neighbours and pings are answered and messages delivered, and promotes a waiting future. With
/// [`Polling::Thread`], a thread for each queue does nothing but poll. Dropping the value ends the threads.
#[derive(Debug)]
pub(crate) struct PollThreads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl PollThreads {
    pub(crate) fn start(polling: Polling, queues: &Arc<[Queue]>) -> Result<Self, Error> {
        let mut started = Self { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        let count = if polling == Polling::Inline { 1 } else { queues.len() };
        for number in 0..count {
            let stop = started.stop.clone();
            let queues = queues.clone();
            let thread = std::thread::Builder::new().name("dpdk".into()).spawn(move || match polling {
                Polling::Inline => look_after(&queues, &stop),
                Polling::Thread => poll(&queues[number], &stop),
            });
            let error = |error| failure(ErrorKind::Exhausted, format!("no thread to poll the port: {error}"));
            started.threads.push(thread.map_err(error)?);
        }
        Ok(started)
    }
}

impl Drop for PollThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A waker that a thread of the port calls may drop the last connection, and then this code runs
            // in the thread itself.
            if thread.thread().id() != std::thread::current().id() {
                // The thread does not panic, unless a waker does.
                let _ = thread.join();
            }
        }
    }
}

/// Visits all queues in each tick.
fn look_after(queues: &[Queue], stop: &AtomicBool) {
    let mut tick = TICK;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(tick);
        tick = IDLE_TICK;
        for queue in queues {
            // A queue that is locked is in use.
            if look_after_one(queue).is_none_or(|in_use| in_use) {
                tick = TICK;
            }
        }
    }
}

/// Polls a queue that no future has polled since the last visit. Returns true if the queue is in use, and
/// `None` if it is locked.
fn look_after_one(queue: &Queue) -> Option<bool> {
    let mut state = queue.try_lock()?;
    let neglected = state.polls_since_tick == 0;
    state.network.is_up();
    if neglected {
        state.tick();
        // The loop takes the frames of a tick, or more, but no more than eight bursts: other threads must get
        // the lock in between.
        for _ in 0..8 {
            if state.poll_for_others() == 0 {
                break;
            }
        }
        state.network.send_replies();
    }
    state.polls_since_tick = 0;
    // The future that polled a moment ago is likely to be back soon; another future is promoted after a tick
    // without polls.
    let in_use = !neglected || state.connections.demux.promote(|_| false);
    queue.release(state);
    Some(in_use)
}

/// Polls a queue until `stop` is set.
fn poll(queue: &Queue, stop: &AtomicBool) {
    enter_thread();
    while !stop.load(Ordering::Relaxed) {
        // The flag and the link are checked once in some hundred polls.
        for _ in 0..IDLE {
            let mut state = queue.lock();
            state.poll_for_others();
            let idle = state.idle;
            queue.release(state);
            if idle >= IDLE {
                std::thread::yield_now();
            }
        }
        let mut state = queue.lock();
        state.network.is_up();
        state.network.send_replies();
        queue.release(state);
    }
}
