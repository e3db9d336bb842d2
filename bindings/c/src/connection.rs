//! A connection, as C has it.

use crate::code::Code;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::readiness::{Bit, Readiness};
use crate::receiving::Receiving;
use crate::sending::Sending;
use crate::task::Task;
use crate::wait::{Limit, wait};
use bertha::{Buf, Pick};
use bertha_named::AnyConnection;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio_util::sync::CancellationToken;

/// A connection, with the calls that go on in tasks of the process.
pub(crate) struct Connection {
    pub(crate) any: Arc<dyn AnyConnection>,
    released: CancellationToken,
    readiness: Arc<Readiness>,
    pub(crate) receiving: Receiving,
    pub(crate) sending: Sending,
    /// The work under way of each kind that takes long.
    lasting: Mutex<[Option<Lasting>; 3]>,
    counts: Counts,
}

/// Work that takes long.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Work {
    Drain,
    Close,
    Upgrade(Pick),
}

struct Lasting {
    work: Work,
    task: Arc<Task<()>>,
}

#[derive(Default)]
struct Counts {
    sent: [AtomicU64; 2],
    received: [AtomicU64; 2],
}

impl Connection {
    pub(crate) fn new(any: Arc<dyn AnyConnection>) -> Arc<Self> {
        let readiness = Arc::<Readiness>::default();
        let released = CancellationToken::new();
        Arc::new(Self {
            receiving: Receiving::new(any.clone(), released.clone(), readiness.clone()),
            sending: Sending::new(any.clone(), released.clone(), readiness.clone()),
            any,
            released,
            readiness,
            lasting: Mutex::default(),
            counts: Counts::default(),
        })
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Returns a buffer for a message.
    ///
    /// # Errors
    /// Errors of the datapath.
    pub(crate) fn buffer(&self, length: usize) -> Result<Buf, Failure> {
        Ok(self.any.buffer(length)?)
    }

    pub(crate) fn count_sent(&self, messages: usize, bytes: usize) {
        count(&self.counts.sent, messages, bytes);
    }

    pub(crate) fn count_received(&self, messages: usize, bytes: usize) {
        count(&self.counts.received, messages, bytes);
    }

    /// Begins the work unless it goes on already, and waits for its end. A later call sees the end of work that this call did not wait
    /// for.
    ///
    /// # Errors
    /// The errors of the work; [`Failure::LATE`] while it goes on; [`BERTHA_INVALID`](Code::BERTHA_INVALID) for a change while another
    /// goes on.
    pub(crate) fn last(&self, work: Work, limit: Limit) -> Result<(), Failure> {
        let place = match work {
            Work::Drain => 0,
            Work::Close => 1,
            Work::Upgrade(_) => 2,
        };
        let task = {
            let mut lasting = self.lasting.lock();
            match &lasting[place] {
                Some(under_way) if under_way.work == work => under_way.task.clone(),
                Some(_) => {
                    return Err(Failure::new(Code::BERTHA_INVALID, "another change of the stack goes on"));
                }
                None => {
                    let task = self.begin(&work)?;
                    lasting[place] = Some(Lasting { work, task: task.clone() });
                    task
                }
            }
        };
        let outcome = wait(limit, &self.released, task.outcome());
        if !outcome.as_ref().is_err_and(Failure::is_late) {
            let mut lasting = self.lasting.lock();
            if lasting[place].as_ref().is_some_and(|under_way| Arc::ptr_eq(&under_way.task, &task)) {
                lasting[place] = None;
            }
            self.readiness.clear(Bit::Done);
            if lasting.iter().flatten().any(|other| other.task.is_done()) {
                self.readiness.set(Bit::Done);
            }
        }
        outcome
    }

    fn begin(&self, work: &Work) -> Result<Arc<Task<()>>, Failure> {
        let any = self.any.clone();
        let work = match work {
            Work::Drain => any.drain(),
            Work::Close => any.close(),
            Work::Upgrade(to) => any.upgrade(to.clone()).ok_or_else(|| {
                let text = "the connection was made without the option `upgradable`";
                Failure::new(Code::BERTHA_INVALID, text)
            })?,
        };
        // Messages that calls have handed over are sent first.
        let sent = self.sending.all_are_sent();
        Task::begin(&self.released, &self.readiness, async move {
            sent.await;
            work.await.map_err(Failure::from)
        })
    }

    pub(crate) fn figures(&self) -> Figures {
        let read = |counts: &[AtomicU64; 2]| [counts[0].load(Relaxed), counts[1].load(Relaxed)];
        let [sent_messages, sent_bytes] = read(&self.counts.sent);
        let [received_messages, received_bytes] = read(&self.counts.received);
        Figures {
            sent_messages,
            sent_bytes,
            received_messages,
            received_bytes,
            longest_message: self.any.longest() as u64,
            dropped: self.any.dropped(),
            forged: self.any.forged(),
        }
    }

    /// Gives the connection up, and ends the calls that wait for it.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

fn count([of_messages, of_bytes]: &[AtomicU64; 2], messages: usize, bytes: usize) {
    of_messages.fetch_add(messages as u64, Relaxed);
    of_bytes.fetch_add(bytes as u64, Relaxed);
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}
