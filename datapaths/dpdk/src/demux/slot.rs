//! One connection.

use super::Ending;
use bertha_core::Buf;
use bertha_netstack::{Flow, Path};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) flow: Flow,
    /// The largest message that the path carries, in bytes, which the connection's base tells without a lock.
    pub(super) most: Arc<AtomicUsize>,
    /// The headers of its last message.
    pub(super) path: Option<Path>,
    pub(super) queue: VecDeque<Buf>,
    /// The futures that wait for a message.
    pub(super) waiting: VecDeque<usize>,
    /// This end began it, and is to hear if nobody is there.
    pub(super) connected: bool,
    pub(super) accepted: bool,
    pub(super) closed: bool,
    pub(super) unreachable: bool,
}

impl Slot {
    pub(super) fn new(flow: Flow, connected: bool, accepted: bool) -> Self {
        Self {
            flow,
            most: Arc::default(),
            path: None,
            queue: VecDeque::new(),
            waiting: VecDeque::new(),
            connected,
            accepted,
            closed: false,
            unreachable: false,
        }
    }

    /// Why there will be no message. That nobody is there is told once.
    #[inline]
    pub(super) fn ending(&mut self) -> Option<Ending> {
        if self.closed {
            Some(Ending::Closed)
        } else {
            std::mem::take(&mut self.unreachable).then_some(Ending::Unreachable)
        }
    }
}
