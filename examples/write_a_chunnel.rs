//! A Chunnel of your own: it numbers each message, and counts at the peer how many messages did not arrive.
//!
//! A Chunnel needs two traits: `Chunnel` wraps the connection below, `Connection` sends and receives.
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

impl<Inner: Carries<Buf, Numbered>> Connection for NumberedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    // This Chunnel holds nothing back, but one below it may: so `drain` and `close` are passed on.
    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        message.prepend(HEADER)?.copy_from_slice(&number.to_le_bytes());
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let mut message = self.inner.recv().await?;
            // A peer may send anything: a message that is too short is dropped.
            let Some(number) = message.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) else {
                continue;
            };
            message.advance(HEADER)?;
            let expected = self.expected.swap(number.wrapping_add(1), Ordering::Relaxed);
            if number != expected {
                println!("expected message {expected}, got {number}");
            }
            return Ok(message);
        }
    }
}

#[bertha::main]
async fn main() -> Result<(), Error> {
    let mut incoming = make_stack!(Numbered).listen(bertha::datapath(), ([127, 0, 0, 1], 0)).await?;
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
