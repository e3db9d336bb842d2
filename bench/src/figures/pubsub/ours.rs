//! Connections of Bertha, as ends of a measurement.

use super::exchange::{Receives, ReceivesBursts, Sends, SendsBursts, number};
use super::failed;
use crate::Error;
use bertha_core::{Base, Buf, Connection};

/// A connection that publishes.
pub(super) struct Publishing<C>(pub(super) C);

impl<C: Connection<Data = Buf>> Publishing<C> {
    /// Returns the message in a buffer of the connection's base.
    pub(super) fn buffer(&self, message: &[u8]) -> Result<Buf, Error> {
        let mut buffer = self.0.base().buffer(message.len()).map_err(failed)?;
        buffer.copy_from_slice(message);
        Ok(buffer)
    }
}

impl<C: Connection<Data = Buf>> Sends for Publishing<C> {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.0.send(self.buffer(&message)?).await.map_err(failed)
    }

    async fn flush(&self) -> Result<(), Error> {
        self.0.drain().await.map_err(failed)
    }
}

/// A connection that receives.
pub(super) struct Receiving<C> {
    pub(super) connection: C,
    /// Messages that the application works on.
    held: Vec<Buf>,
    /// Largest number of messages that the end asks for.
    limit: usize,
}

impl<C> Receiving<C> {
    /// Creates an end that receives single messages.
    pub(super) fn new(connection: C) -> Self {
        Self { connection, held: Vec::new(), limit: 1 }
    }

    /// Makes the end receive in bursts of at most `limit`.
    pub(super) fn bursts(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl<C: Connection<Data = Buf>> Receives for Receiving<C> {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        if self.limit == 1 {
            self.held.push(self.connection.recv().await.map_err(failed)?);
        } else {
            self.connection.recv_batch(&mut self.held, self.limit).await.map_err(failed)?;
        }
        self.held.iter().map(|message| number(message)).collect()
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        self.held.clear();
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), Error> {
        self.connection.drain().await.map_err(failed)
    }
}

impl<C: Connection<Data = Buf>> SendsBursts for Publishing<C> {
    async fn send_all(&self, messages: Vec<Vec<u8>>) -> Result<(), Error> {
        let burst = messages.iter().map(|message| self.buffer(message)).collect::<Result<Vec<_>, _>>()?;
        self.0.send_batch(burst.into_iter()).await.map_err(failed)
    }
}

impl<C: Connection<Data = Buf>> ReceivesBursts for Receiving<C> {
    async fn take(&mut self, limit: usize) -> Result<usize, Error> {
        let taken = self.connection.recv_batch(&mut self.held, limit).await.map_err(failed)?;
        self.held.clear();
        Ok(taken)
    }
}
