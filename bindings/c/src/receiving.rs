//! Receiving, with and without waiting.
//!
//! A call receives from the connection itself. Only when a call that never waits has found nothing, and the connection has a
//! descriptor, a task receives in the place of the calls, so that others who share the socket go on whatever this
//! thread does. The task ends with the first burst, which it leaves in a queue.

use crate::failure::Failure;
use crate::queue::{Look, Queue};
use crate::readiness::Readiness;
use crate::runtime;
use crate::wait::{Limit, spawn, wait};
use bertha::Buf;
use bertha_named::AnyConnection;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most messages that the task receives.
const AHEAD: usize = 32;

/// The receiving side of a connection, with the messages that calls have not taken yet.
pub(crate) struct Receiving {
    any: Arc<dyn AnyConnection>,
    released: CancellationToken,
    readiness: Arc<Readiness>,
    arrived: Arc<Queue<Result<Buf, Failure>>>,
}

impl Receiving {
    pub(crate) fn new(
        any: Arc<dyn AnyConnection>,
        released: CancellationToken,
        readiness: Arc<Readiness>,
    ) -> Self {
        let arrived = Arc::new(Queue::new(readiness.clone()));
        Self { any, released, readiness, arrived }
    }

    /// Leaves a message that a call had no room for to the next call.
    pub(crate) fn put_back(&self, message: Buf) {
        self.arrived.put_back(Ok(message));
    }

    /// Receives a message.
    ///
    /// # Errors
    /// Errors of the connection; [`Failure::LATE`].
    pub(crate) fn receive(&self, limit: Limit) -> Result<Buf, Failure> {
        // What is there is taken without the price of a future.
        match self.at_once()? {
            Some(message) => Ok(message),
            None => self.until_late(|| wait(limit, &self.released, self.next())),
        }
    }

    fn at_once(&self) -> Result<Option<Buf>, Failure> {
        runtime::enter()?;
        match self.arrived.take() {
            Look::Found(message) => message.map(Some),
            Look::Gathering => Ok(None),
            Look::Nothing => Ok(self.any.receive_at_once().transpose()?),
        }
    }

    /// Receives as many messages as are there, at least one and at most `most`.
    ///
    /// # Errors
    /// Errors of the connection; [`Failure::LATE`].
    pub(crate) fn receive_burst(&self, most: usize, limit: Limit) -> Result<Vec<Buf>, Failure> {
        self.until_late(|| wait(limit, &self.released, self.next_burst(most)))
    }

    /// Calls `receive` again if something arrived at the moment when its time was up.
    fn until_late<T>(&self, receive: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        loop {
            match receive() {
                Err(failure) if failure.is_late() => {
                    if !self.readiness.is_asked_for() || self.watch()? {
                        return Err(failure);
                    }
                }
                received => return received,
            }
        }
    }

    async fn next(&self) -> Result<Buf, Failure> {
        let arrived = &self.arrived;
        loop {
            let arrival = arrived.arrival();
            match arrived.take() {
                Look::Found(message) => return message,
                Look::Gathering => arrival.await,
                Look::Nothing => tokio::select! {
                    biased;
                    received = self.any.receive() => return Ok(received?),
                    () = arrival => {}
                },
            }
        }
    }

    async fn next_burst(&self, most: usize) -> Result<Vec<Buf>, Failure> {
        let arrived = &self.arrived;
        loop {
            let arrival = arrived.arrival();
            let there = arrived.take_while(most, Result::is_ok);
            if !there.is_empty() {
                return there.into_iter().collect();
            }
            let mut burst = Vec::new();
            match arrived.take() {
                Look::Found(message) => return message.map(|message| vec![message]),
                Look::Gathering => arrival.await,
                Look::Nothing => tokio::select! {
                    biased;
                    received = self.any.receive_burst(&mut burst, most) => {
                        received?;
                        return Ok(burst);
                    }
                    () = arrival => if !burst.is_empty() {
                        return Ok(burst);
                    },
                },
            }
        }
    }

    /// Lets a task receive, so that the descriptor shows what arrives from now on. Returns false if something is there.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](crate::code::Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn watch(&self) -> Result<bool, Failure> {
        let arrived = &self.arrived;
        if !arrived.clear_if_empty() {
            return Ok(false);
        }
        if arrived.begins_gathering() {
            let (any, arrived) = (self.any.clone(), arrived.clone());
            spawn(self.released.clone(), async move {
                let mut burst = Vec::new();
                let outcome = any.receive_burst(&mut burst, AHEAD).await;
                let failure = outcome.err().map(Failure::from);
                arrived.push(burst.into_iter().map(Ok).chain(failure.map(Err)));
            })?;
        }
        Ok(true)
    }
}
