//! A Chunnel of your own: it numbers each message, and tells at the peer which messages did not arrive.
//!
//! A Chunnel needs two traits: `Chunnel` wraps the connection below, `Connection` sends and receives. The test at the end
//! runs the suite for Chunnels: `cargo test --example write_a_chunnel`.
#![allow(clippy::print_stdout, reason = "what an example prints is what it shows")]

use bertha::prelude::*;
use bertha::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity, forward};
use std::sync::atomic::{AtomicU32, Ordering};

/// A Chunnel that numbers messages. Its peer needs it too, as its `Identity` says.
#[derive(Debug, Identity)]
struct Numbered;

const HEADER: usize = 4;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Numbered {
    type Connection = NumberedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().reserve(HEADER);
        Ok(NumberedConnection { inner, sent: AtomicU32::new(0), expected: AtomicU32::new(0) })
    }
}

struct NumberedConnection<Inner> {
    inner: Inner,
    sent: AtomicU32,
    expected: AtomicU32,
}

impl<Inner> NumberedConnection<Inner> {
    /// Puts the next number in front of a message.
    fn numbered(&self, mut message: Buf) -> Result<Buf, Error> {
        let header = message.prepend(HEADER)?;
        header.copy_from_slice(&self.sent.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        Ok(message)
    }

    /// Takes the number off a message. A peer may send anything: a message that is too short is dropped.
    fn unnumbered(&self, mut message: Buf) -> Option<Buf> {
        let number = u32::from_le_bytes(*message.first_chunk()?);
        message.advance(HEADER).ok()?;
        let expected = self.expected.swap(number.wrapping_add(1), Ordering::Relaxed);
        if number != expected {
            println!("expected message {expected}, got {number}");
        }
        Some(message)
    }
}

impl<Inner: Carries<Buf, Numbered>> Connection for NumberedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    // This Chunnel holds nothing back, but one below it may: so `drain` and `close` are passed on.
    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.numbered(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.unnumbered(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    // A burst goes on in one call, so that the layer below can carry it as one.
    async fn send_batch(&self, burst: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut failed = Ok(());
        let numbered =
            burst.map_while(|message| self.numbered(message).map_err(|error| failed = Err(error)).ok());
        self.inner.send_batch(numbered.fuse()).await?;
        failed
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut burst = Burst { connection: self, into, count: 0 };
        // A burst of messages that are all too short would return zero.
        while burst.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut burst, limit).await?;
        }
        Ok(burst.count)
    }
}

/// The collection that the layer below fills with a burst: it takes the numbers off on the way.
struct Burst<'a, Inner, Into> {
    connection: &'a NumberedConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<Inner, Into: Extend<Buf>> Extend<Buf> for Burst<'_, Inner, Into> {
    fn extend<Bufs: IntoIterator<Item = Buf>>(&mut self, received: Bufs) {
        let messages = received.into_iter().filter_map(|message| self.connection.unnumbered(message));
        self.into.extend(messages.inspect(|_| self.count += 1));
    }
}

#[bertha::main]
async fn main() -> Result<(), Error> {
    let mut incoming = make_stack!(Numbered).listen(bertha::datapath(), "127.0.0.1:0").await?;
    let server = incoming.local_addr();
    let stack = make_stack!(Numbered);
    let (connection, served) = tokio::join!(stack.connect(bertha::datapath(), server), incoming.next());
    let (connection, Some(served)) = (connection?, served) else { return Ok(()) };
    for text in ["first", "second"] {
        let mut message = connection.base().buffer(text.len())?;
        message.copy_from_slice(text.as_bytes());
        connection.send(message).await?;
        println!("received {}", String::from_utf8_lossy(&served.recv().await?));
    }
    connection.close().await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_conformance::{Bufs, Recorder};
    use bertha_datapath_sim::{Sim, SimDatapath};

    const SERVER: [u8; 4] = [10, 0, 0, 2];

    /// Connects two ends over a simulated network, with the suite's layers directly below the Chunnel.
    async fn connected(
        client: &SimDatapath,
        server: &SimDatapath,
        [below_client, below_server]: [Recorder; 2],
    ) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
        let listening = make_stack!(Numbered, below_server);
        let mut incoming = listening.listen(server.clone(), (SERVER, 0)).await.unwrap();
        let to = incoming.local_addr();
        let stack = make_stack!(Numbered, below_client);
        let connecting = stack.connect(client.clone(), to).into_future();
        let (connection, accepted) = tokio::join!(connecting, incoming.next());
        // The address of a server stays in use.
        std::mem::forget(incoming);
        (connection.unwrap(), accepted.unwrap())
    }

    #[test]
    fn a_connection_with_numbers_keeps_every_promise() {
        for seed in 0..3 {
            let mut sim = Sim::new(seed);
            let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
            let pairs = async |below: [Recorder; 2]| connected(&client, &server, below).await;
            sim.run(bertha_conformance::chunnel(pairs, &Bufs));
        }
    }
}
