//! The connection: made by a Chunnel, used by an application.

use crate::{Base, Error};

/// A connection that sends and receives messages of one type.
///
/// # For callers
///
/// * `send` and `recv` take `&self` and may run at the same time, from one task or several. Several `send`s may run
///   at once; several `recv`s may too, and each message goes to exactly one of them.
/// * **Loss.** A connection promises no more than its stack does: over a datagram datapath messages may be lost,
///   duplicated and reordered. What arrives is whole; malformed messages are dropped and counted.
/// * **Backpressure.** `send` waits while the datapath can't take the message, and never queues without bound.
/// * **Cancellation.** Dropping the future of `recv` or `recv_batch` loses no message. Dropping the future of `send`
///   before it is ready means that the message was not sent, or was sent whole; of `send_batch`, that some first part
///   of the burst was.
///
/// # For implementers
///
/// Keep these promises, given that the connection below keeps them. A method that only passes a message on should
/// return the future from below (`fn send(..) -> impl Future { self.inner.send(message) }`), which costs nothing; one that
/// has something to do when that is done says so by [`map_output`](crate::map_output), which costs three instructions per layer at
/// most; an `async fn` that awaits it, up to thirteen.
pub trait Connection: Send + Sync + 'static {
    /// The type of a message, the same in both directions.
    type Data: Send + 'static;
    /// The bottom of the stack.
    type Base: Base;

    /// The bottom of the stack: runtime, buffers, addresses, limits.
    fn base(&self) -> &Self::Base;

    /// The largest message that the layers from this one down carry, in bytes, with the
    /// [headroom](Base::reserved) that they and the layers above have asked for.
    ///
    /// A Chunnel that cuts messages raises it; every other Chunnel returns that of the connection below. The default is
    /// that of the datapath, so a layer that forgets to pass it on makes messages smaller than they may be, and loses none.
    fn mtu(&self) -> usize {
        self.base().mtu()
    }

    /// Sends one message. Ready once the datapath has taken it.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) and [`Malformed`](crate::ErrorKind::Malformed) concern this message
    /// alone; [`Closed`](crate::ErrorKind::Closed), [`Reset`](crate::ErrorKind::Reset) and
    /// [`TimedOut`](crate::ErrorKind::TimedOut) end the connection. [`Exhausted`](crate::ErrorKind::Exhausted) passes;
    /// [`Unreachable`](crate::ErrorKind::Unreachable) may, if the peer comes back.
    fn send(&self, message: Self::Data) -> impl Future<Output = Result<(), Error>> + Send;

    /// Waits for the next message.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    fn recv(&self) -> impl Future<Output = Result<Self::Data, Error>> + Send;

    /// Sends a burst. A datapath hands as much of it as it can to the system in one call.
    ///
    /// In order, where the datapath keeps it at all ([`Properties::ordered`](crate::Properties::ordered)); another may
    /// let messages of one burst overtake each other, to hand over more of them at once.
    ///
    /// Messages are taken from `messages` as the datapath can use them. After an error, those still in it were not
    /// sent; pass `&mut iterator` to keep them. Those that were taken already, a bounded number, were sent or are
    /// lost; so they are if the future is dropped.
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

    /// Waits until at least one message is there, then appends what is there to `into`, at most `limit` messages, and
    /// returns how many. Never waits for a burst to fill; a `limit` of zero returns zero at once.
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

    /// Sends everything that layers hold back, and waits until none of it needs to be sent again. The connection goes
    /// on; no `send` may be under way.
    ///
    /// A Chunnel that holds messages back, or repeats them until they arrive, first does that and then drains the
    /// connection below; any other passes the call on. A connection is drained before it changes its stack, so a layer
    /// that forgets to pass the call on loses the messages that layers below it hold. The bottom of a stack, which
    /// holds nothing, returns at once.
    ///
    /// # Errors
    /// As for [`send`](Self::send); held messages are lost only if the connection has ended.
    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// Sends what layers still hold back, tells the peer, and closes. Later calls fail with
    /// [`Closed`](crate::ErrorKind::Closed), on this end at once and at the peer when the message reaches it.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send;
}
