//! The network side of a queue: its stack, and frames that the stack itself sends.

use super::send::Transmitter;
use super::unresolved::Unresolved;
use crate::mbuf::{Burst, Packet};
use crate::port::PortHandle;
use crate::progress::{Counts, Progress, Stuck};
use crate::{Counters, Pool};
use bertha_core::Error;
use bertha_netstack::Stack;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The stack of a queue, with everything that sending frames needs.
pub(crate) struct Network {
    pub(crate) stack: Stack,
    pub(crate) transmitter: Transmitter,
    port: Arc<PortHandle>,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    /// Time of the last reading of the clock.
    pub(crate) now: Instant,
    /// Frames to neighbours whose address is not known yet.
    pub(crate) unresolved: Unresolved,
    /// True if this queue announces the interface's addresses when the link comes up: a single queue of the
    /// port does.
    announces: bool,
    was_up: bool,
    progress: Progress,
    /// Frames that the stack itself sends. The burst is empty whenever the lock is free, and kept so that
    /// nothing has to be initialised.
    replies: Burst,
}

impl Network {
    pub(crate) fn new(
        number: usize,
        port: Arc<PortHandle>,
        stack: Stack,
        transmitter: Transmitter,
        now: Instant,
    ) -> Self {
        let pool = port.pool;
        let counters = Counters::default();
        let announces = number == 0;
        let replies = Burst::new();
        let unresolved = Unresolved::new();
        let progress = Progress::new(now);
        let was_up = false;
        Self {
            stack,
            transmitter,
            port,
            pool,
            counters,
            now,
            unresolved,
            announces,
            was_up,
            progress,
            replies,
        }
    }

    /// Returns true if the link is up. When it comes up, the neighbours learn this interface's addresses;
    /// when it goes down, the neighbours' addresses are forgotten, since they may change.
    pub(crate) fn is_up(&mut self) -> bool {
        let up = self.port.is_up();
        if up && !self.was_up && self.announces {
            self.stack.announce();
        }
        if self.was_up && !up {
            self.stack.distrust_neighbours();
        }
        self.was_up = up;
        up
    }

    /// Counts and tells that the port makes no progress, if it makes none. A single queue of the port does so, in
    /// the thread that polls it: a thread may find a free buffer in its cache where another finds none.
    #[inline]
    pub(crate) fn watch_progress(&mut self) {
        if self.announces && self.progress.is_due(self.now) {
            self.look_at_progress();
        }
    }

    #[cold]
    fn look_at_progress(&mut self) {
        if !self.was_up {
            return self.progress.rest(self.now);
        }
        // A port without counters can't be watched.
        let Ok(statistics) = self.port.statistics() else { return self.progress.rest(self.now) };
        let is_starved = self.pool.buffer(0, 0).is_err();
        let counts = Counts::new(statistics, self.port.refused.load(Ordering::Relaxed), is_starved);
        for (stuck, is_new) in self.progress.look(counts, self.now) {
            self.counters.stuck += 1;
            if is_new {
                let what = match stuck {
                    Stuck::Receiving => {
                        "the port has lost all arriving frames for seconds: read messages sooner, raise `buffers`, or open the port again"
                    }
                    Stuck::Sending => "the port has taken no frame to be sent for seconds: open it again",
                };
                tracing::warn!(port = self.port.name, ?statistics, "{what}");
            }
        }
    }

    /// Sends a frame of the stack itself. If the port does not take the frame, it is dropped, for the peer
    /// asks again.
    pub(crate) fn send_reply(&mut self, packet: Packet) {
        if self.replies.push(packet).is_ok() {
            self.transmitter.transmit(&mut self.replies);
        }
        while self.replies.pop().is_some() {
            self.counters.not_sent += 1;
        }
    }

    /// Sends the frames that wait in the stack.
    #[cold]
    pub(crate) fn send_replies(&mut self) {
        let pool = self.pool;
        loop {
            let copy = self.stack.poll_transmit(|frame| {
                let mut copy = pool.buffer(frame.len(), 0)?;
                copy.copy_from_slice(frame);
                Ok::<_, Error>(copy)
            });
            match copy.map(|copy| copy.map(Packet::from_buf)) {
                None => return,
                Some(Ok(Ok(packet))) => self.send_reply(packet),
                Some(Ok(Err(_)) | Err(_)) => self.counters.not_sent += 1,
            }
        }
    }
}
