//! The place of a caller among those that wait.

use crate::Binding;
use crate::traffic::{Lanes, Traffic};
use std::sync::Arc;
use std::task::Waker;

/// The place of a caller among those whose large requests wait.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) traffic: Arc<Traffic>,
    waker: Waker,
    /// The ticket of the last wait.
    pub(super) ticket: Option<u64>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.traffic.leave(ticket);
        }
    }
}

impl Place {
    pub(super) fn new(binding: &Binding) -> Self {
        Self { traffic: Arc::clone(&binding.traffic), waker: binding.waker.clone(), ticket: None }
    }

    /// Waits, unless the caller does already. Without a request the caller waits no more.
    pub(super) fn keep(&mut self, lanes: &mut Lanes, beside: Option<u64>) {
        match (self.ticket, beside) {
            (Some(ticket), Some(_)) if lanes.is_waiting(ticket) => {}
            (_, Some(beside)) => self.ticket = Some(lanes.wait(beside, self.waker.clone())),
            (_, None) => self.give_up(lanes),
        }
    }

    pub(super) fn give_up(&mut self, lanes: &mut Lanes) {
        if let Some(ticket) = self.ticket.take() {
            lanes.leave(ticket);
        }
    }
}
