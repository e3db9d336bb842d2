//! The connection that cuts a stream into messages.

use super::{Deframe, Framing};
use crate::arrived::Arrived;
use bertha_core::{Buf, Chunk, Connection, Error, ErrorKind, debug_fields, forward};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Mutex as AsyncMutex;

/// Maximum number of chunks that are received from below in one call.
const BURST: usize = 16;

/// The connection of a framing Chunnel over a connection that carries bytes.
///
/// Losses and backpressure are those of the connection below. Dropping the future of `send` sends the message
/// whole or not at all; dropping the future of `recv` loses nothing.
///
/// # Errors
/// The errors of the connection below; [`TooLarge`](ErrorKind::TooLarge) and
/// [`Malformed`](ErrorKind::Malformed) for one message that the format can't express, or that arrived
/// malformed; [`Reset`](ErrorKind::Reset) if the stream ended within a message, or no further message can be
/// found in it.
pub struct FramedConnection<Inner, F: Framing> {
    inner: Inner,
    format: F,
    /// The headroom that the layers below need.
    below: usize,
    /// Locked across the wait for a message, so that each message goes to one `recv`.
    incoming: AsyncMutex<Incoming<F::Decoder>>,
    is_closed: AtomicBool,
}

struct Incoming<Decoder> {
    /// Bytes that have arrived and were not decoded.
    chunks: VecDeque<Buf>,
    decoder: Decoder,
    /// True if the peer has ended its half, behind these bytes.
    has_ended: bool,
    /// The error of a message behind the messages that a burst took.
    late: Option<Error>,
    /// The error that has ended the stream.
    failed: Option<(ErrorKind, String)>,
}

impl<Decoder: Deframe> Incoming<Decoder> {
    /// Returns the next message in the bytes that have arrived.
    fn decode(&mut self) -> Result<Option<Decoder::Message>, Error> {
        if let Some(error) = self.late.take() {
            return Err(error);
        }
        if let Some((kind, what)) = &self.failed {
            return Err(Error::new(*kind, what.clone()).ending_connection());
        }
        while let Some(bytes) = self.chunks.front_mut() {
            match self.decoder.decode(bytes) {
                Ok(None) => drop(self.chunks.pop_front()),
                Err(error) if error.kind() != ErrorKind::Malformed => return Err(self.fail(error)),
                decoded => return decoded,
            }
        }
        if !self.has_ended {
            return Ok(None);
        }
        match self.decoder.end() {
            Ok(None) => Err(self.fail(Error::new(ErrorKind::Closed, "the peer ended the stream"))),
            Err(error) => Err(self.fail(error)),
            last => last,
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.chunks.clear();
        self.failed = Some((error.kind(), error.context().to_owned()));
        error.ending_connection()
    }
}

impl<Inner: Connection<Data = Chunk>, F: Framing> FramedConnection<Inner, F> {
    pub(super) fn new(inner: Inner, format: F, below: usize) -> Self {
        let chunks = VecDeque::new();
        let decoder = format.decoder();
        let incoming = Incoming { chunks, decoder, has_ended: false, late: None, failed: None };
        Self { inner, format, below, incoming: AsyncMutex::new(incoming), is_closed: AtomicBool::new(false) }
    }

    /// Returns the connection below.
    pub fn inner(&self) -> &Inner {
        &self.inner
    }

    fn open(&self) -> Result<(), Error> {
        // Relaxed: no other data depends on the flag.
        if self.is_closed.load(Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "this end closed the connection").at("Framed"));
        }
        Ok(())
    }

    fn encode(&self, message: F::Message) -> Result<Chunk, Error> {
        let encoded = self.format.encode(message, self.inner.base());
        encoded.map(Chunk::from).map_err(|error| error.at("Framed"))
    }

    /// Waits for the next message.
    async fn next(&self, incoming: &mut Incoming<F::Decoder>) -> Result<F::Message, Error> {
        loop {
            self.open()?;
            if let Some(message) = incoming.decode().map_err(|error| error.at("Framed"))? {
                return Ok(message);
            }
            let mut arrived = Arrived::<Chunk>::new(&mut incoming.chunks);
            let received = self.inner.recv_batch(&mut arrived, BURST).await;
            incoming.has_ended |= arrived.has_ended;
            if let Err(error) = received {
                if error.ends_connection() {
                    incoming.failed = Some((error.kind(), error.context().to_owned()));
                }
                return Err(error);
            }
        }
    }
}

impl<Inner: Connection<Data = Chunk>, F: Framing> Connection for FramedConnection<Inner, F> {
    type Data = F::Message;
    type Base = Inner::Base;

    forward!(self.inner => base, drain);

    fn mtu(&self) -> usize {
        let most = self.inner.mtu();
        self.format.largest().map_or(most, |largest| most.min(largest + F::HEADER + self.below))
    }

    async fn send(&self, message: F::Message) -> Result<(), Error> {
        self.open()?;
        let encoded = self.encode(message)?;
        // An empty chunk would end the stream.
        if encoded.is_end() { Ok(()) } else { self.inner.send(encoded).await }
    }

    async fn recv(&self) -> Result<F::Message, Error> {
        self.next(&mut *self.incoming.lock().await).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = F::Message> + Send) -> Result<(), Error> {
        self.open()?;
        let mut failed = Ok(());
        let encoded = messages.map_while(|message| match self.encode(message) {
            Ok(encoded) => Some(encoded),
            Err(error) => {
                failed = Err(error);
                None
            }
        });
        self.inner.send_batch(encoded.fuse().filter(|encoded| !encoded.is_end())).await?;
        failed
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<F::Message> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut incoming = self.incoming.lock().await;
        into.extend([self.next(&mut incoming).await?]);
        let mut count = 1;
        while count < limit {
            match incoming.decode() {
                Ok(Some(message)) => into.extend([message]),
                Ok(None) => break,
                Err(error) => {
                    incoming.late = Some(error);
                    break;
                }
            }
            count += 1;
        }
        Ok(count)
    }

    async fn close(&self) -> Result<(), Error> {
        self.is_closed.store(true, Relaxed);
        self.inner.close().await
    }
}

debug_fields!(FramedConnection<Inner, F: Framing> {});
