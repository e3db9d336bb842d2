//! The connection that a Chunnel makes and an application uses.

use crate::{Base, Error, PeerIdentity, Statistics};

/// A connection that sends and receives messages of one type.
///
/// # For callers
///
/// * **Concurrency.** `send` and `recv` take `&self`, and any number of both may run at once, from one task or several.
///   Each message goes to exactly one `recv`.
/// * **Loss.** A connection promises no more than its stack does: over a datagram datapath messages may be lost,
///   duplicated and reordered. Messages arrive whole; malformed messages are dropped and counted.
/// * **Backpressure.** `send` waits while the datapath can't take the message, and never queues without bound.
/// * **Cancellation.** Dropping the future of `recv` or `recv_batch` loses no message. If the future of `send` is dropped
///   before it is ready, the message was sent whole or not at all. If the future of `send_batch` is dropped, some first
///   part of the burst was sent.
///
/// # For implementers
///
/// A layer must keep these promises, and may assume that the connection below keeps them. A method that only passes a
/// message on should return the future from below (`fn send(..) -> impl Future { self.inner.send(message) }`), which costs
/// nothing; [`forward!`](crate::forward) writes such methods. A method with work to do on the outcome should use [`map_output`](crate::map_output), which costs at most
/// three instructions per layer; an `async fn` that awaits the call costs up to thirteen.
pub trait Connection: Send + Sync + 'static {
    /// The type of a message, in both directions.
    type Data: Send + 'static;
    /// The bottom of the stack.
    type Base: Base;

    /// Returns the bottom of the stack: runtime, buffers, addresses, limits.
    fn base(&self) -> &Self::Base;

    /// Returns the largest message that this layer and the layers below carry, in bytes, including the
    /// [headroom](Base::reserved) that they and the layers above have reserved.
    ///
    /// A Chunnel that cuts messages raises the `mtu`; every other Chunnel should return the `mtu` of the
    /// connection below. The default is the `mtu` of the datapath: above a Chunnel that cuts messages, a
    /// layer with the default has smaller messages than necessary, but loses none.
    fn mtu(&self) -> usize {
        self.base().mtu()
    }

    /// Sends one message. The future is ready once the datapath has taken the message.
    ///
    /// # Errors
    /// [`Error::ends_connection`] tells if the connection has ended. Then every later call fails at once,
    /// except calls that receive messages which had arrived before. Otherwise the error concerns this message
    /// alone, or a state that may pass, and the connection goes on.
    fn send(&self, message: Self::Data) -> impl Future<Output = Result<(), Error>> + Send;

    /// Waits for the next message.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send).
    fn recv(&self) -> impl Future<Output = Result<Self::Data, Error>> + Send;

    /// Sends a burst. A datapath passes as many of its messages as possible to the system in one call.
    ///
    /// An [ordered](crate::Properties::ordered) datapath sends the burst in order. Any other datapath may
    /// reorder messages within the burst, to pass more of them on at once.
    ///
    /// Messages are taken from `messages` when the datapath can use them. After an error, the messages still
    /// in the iterator were not sent; pass `&mut iterator` to keep them. The messages already taken, a
    /// bounded number, were sent or are lost. The same rules hold if the future is dropped.
    fn send_batch(
        &self,
        messages: impl Iterator<Item = Self::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async move {
            for message in messages {
                self.send(message).await?;
            }
            Ok(())
        }
    }

    /// Waits for at least one message, appends all available messages to `into`, at most `limit`, and returns their
    /// number. It never waits for a burst to fill; with a `limit` of zero it returns zero at once.
    fn recv_batch(
        &self,
        into: &mut (impl Extend<Self::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        async move {
            if limit == 0 {
                return Ok(0);
            }
            into.extend([self.recv().await?]);
            Ok(1)
        }
    }

    /// Sends every message that layers hold back, and waits until none of them needs to be sent again. The connection stays
    /// open. No `send` may be under way.
    ///
    /// A Chunnel that holds messages back, or repeats them until they arrive, sends them first and then
    /// drains the connection below; any other Chunnel passes the call on. A connection is drained before it
    /// changes its stack, so a layer that does not pass the call on loses the messages that layers below it
    /// hold. The bottom of a stack holds no messages, and returns at once.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send); held messages are lost only if the connection has ended.
    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Sends the messages that layers still hold back, notifies the peer, and closes. Later calls fail with
    /// [`Closed`](crate::ErrorKind::Closed), on this end at once and at the peer once the notification reaches it.
    ///
    /// An end that is dropped without `close` is [`Reset`](crate::ErrorKind::Reset) at the peer of a negotiated connection, or
    /// [`TimedOut`](crate::ErrorKind::TimedOut) if the peer can't be told. So behind `Closed` nothing is missing, over a stack that loses
    /// nothing.
    ///
    /// # Errors
    /// Over a stack that loses nothing, `close` fails only if a message of this end may not have arrived.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Returns the identity that the peer has proved: by the agreement, to a secure Chunnel of an agreed stack, or
    /// by the means of the datapath. `None` if this layer knows of none.
    ///
    /// A negotiated connection returns the identity of its agreement, and follows it through changes of the
    /// stack. The default returns the identity for which the [base](Base::peer_identity) vouches.
    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.base().peer_identity()
    }

    /// Adds what a datapath and the system know about this connection to its statistics, such as the round-trip
    /// time of TCP. The method is for the bottom of a stack: Chunnels register with
    /// [`ConnectContext::observes`](crate::ConnectContext::observes) instead. The default adds nothing.
    fn observe(&self, _into: &mut Statistics) {}
}
