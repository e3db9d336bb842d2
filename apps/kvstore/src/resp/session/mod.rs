//! A connection of a client.

mod answering;
mod planning;
mod replying;
#[cfg(test)]
mod tests;
mod waiting;

use super::clients::{Client, Held};
use super::format::Frame;
use super::wire::{Replies, Version};
use super::{Command, Operation, Outcome, RespShared, Routes};
use crate::shared_store::SharedStore;
use bertha::Error;
use bertha::prelude::*;
use std::sync::Arc;
use waiting::Waiting;

/// The most commands that are carried out before they are answered.
const BURST: usize = 256;

/// Room for so many operations, and for their outcomes, is kept.
const KEPT: usize = 4 * BURST;

/// The state of one connection.
pub(super) struct Session<'a> {
    store: &'a SharedStore,
    routes: &'a Routes,
    shared: &'a RespShared,
    client: &'a Arc<Client>,
    version: Version,
    /// The name that the client gave itself.
    name: Vec<u8>,
    /// The client has said something and may stay.
    is_known: bool,
    waiting: Waiting,
    steps: Vec<Step>,
    operations: Vec<Operation>,
    outcomes: Vec<Outcome>,
    /// The first outcome that was not written.
    next: usize,
    /// The bytes of values among the outcomes from `next` on, once they were counted.
    unsent: Option<usize>,
    /// The bytes of the value that is being sent in pieces.
    in_pieces: usize,
    replies: Replies,
    held: Held,
}

/// The way in which a command is answered.
enum Step {
    /// With the next outcome.
    One,
    /// With a list of so many.
    Each(usize),
    /// With the sum of so many.
    Sum(usize),
    /// Without the store.
    Here(Command),
}

impl<'a> Session<'a> {
    pub(super) fn new(
        store: &'a SharedStore,
        routes: &'a Routes,
        shared: &'a RespShared,
        client: &'a Arc<Client>,
    ) -> Self {
        client.set_stranger(shared.settings.password.is_some());
        Self {
            store,
            routes,
            shared,
            client,
            version: Version::Two,
            name: Vec::new(),
            is_known: false,
            waiting: Waiting::default(),
            steps: Vec::new(),
            operations: Vec::new(),
            outcomes: Vec::new(),
            next: 0,
            unsent: None,
            in_pieces: 0,
            replies: Replies::default(),
            held: Held::nothing(&shared.unsent, client),
        }
    }

    /// Answers commands until the connection ends, and says why it did.
    pub(super) async fn serve(mut self, connection: &impl Connection<Data = Frame>) -> Error {
        loop {
            if self.waiting.is_empty() {
                // What a stranger may send depends on the command before: that may be the login.
                let most = if self.client.is_stranger() { 1 } else { BURST };
                if let Err(ended) = connection.recv_batch(&mut self.waiting, most).await {
                    return ended;
                }
            }
            self.plan();
            self.shared.counters.carried_out(self.steps.len());
            self.routes.carry_out(self.store, &mut self.operations, &mut self.outcomes).await;
            if let Err(ended) = self.reply(connection).await {
                return ended;
            }
            self.release();
        }
    }

    /// Makes ready for the next burst.
    fn release(&mut self) {
        self.outcomes.clear();
        (self.next, self.unsent) = (0, None);
        self.operations.shrink_to(KEPT);
        self.outcomes.shrink_to(KEPT);
    }
}
