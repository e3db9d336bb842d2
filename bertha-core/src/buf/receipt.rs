//! The receipts of messages that a service delivers again unless they are acknowledged.

use super::{Buf, Fate, owned};
use crate::debug_fields;
use std::fmt::Debug;
use std::mem::ManuallyDrop;

impl Buf {
    /// Returns a buffer over the bytes of `owner`, as [`from_owner`](Self::from_owner) does. Once no buffer over
    /// them is left, `settle` gets the owner, and the fate of the message. The caller may be a destructor in any
    /// thread, so the function neither waits nor panics.
    ///
    /// ```
    /// # use bertha_core::Buf;
    /// use bertha_core::buf::Fate;
    ///
    /// let (fates, fate) = std::sync::mpsc::channel();
    /// let deliver = || {
    ///     let fates = fates.clone();
    ///     Buf::from_receipt(b"an order".to_vec(), move |_, fate| fates.send(fate).unwrap()).unwrap()
    /// };
    /// deliver().done();
    /// drop(deliver());
    /// assert_eq!([fate.recv(), fate.recv()], [Ok(Fate::Done), Ok(Fate::Dropped)]);
    /// ```
    ///
    /// # Errors
    /// The owner, if it has 128 MiB or more.
    pub fn from_receipt<T: AsMut<[u8]> + Send + 'static>(
        owner: T,
        settle: impl FnOnce(T, Fate) + Send + 'static,
    ) -> Result<Self, T> {
        Ok(Self::over(owned::take_receipt(owner, settle)?))
    }

    /// Returns true if the message is delivered again unless [`done`](Self::done) is called for each part of it.
    #[inline]
    pub fn has_receipt(&self) -> bool {
        self.view.settle_fn().is_some()
    }

    /// Drops the message, and acknowledges it: the receiver has finished its work on this part of it. The
    /// whole message is acknowledged once every part is done. A message without a
    /// [receipt](Self::has_receipt) is just dropped.
    pub fn done(self) {
        self.settle(Fate::Done);
    }

    /// Drops the message, and lets the service deliver the whole of it again at once, to any receiver. A message
    /// without a [receipt](Self::has_receipt) is just dropped.
    pub fn give_back(self) {
        self.settle(Fate::GivenBack);
    }

    /// Drops the message with this fate.
    pub fn settle(self, fate: Fate) {
        if let Some(settle) = self.view.settle_fn() {
            let this = ManuallyDrop::new(self);
            // SAFETY: the storage is of this vtable; the window is counted, and forgotten here.
            unsafe { settle(this.view.storage_ptr(), fate) };
        }
    }

    /// Returns this message; `act` is called with its fate before the service learns it. A layer that remembers
    /// which messages have arrived uses the method, since a message that is not [done](Fate::Done) arrives again.
    ///
    /// A message without a [receipt](Self::has_receipt) is returned as it is, and `act` is not called. Otherwise the
    /// message has neither headroom nor tailroom afterwards.
    #[must_use]
    pub fn when_settled(self, act: impl FnOnce(Fate) + Send + 'static) -> Self {
        if !self.has_receipt() {
            return self;
        }
        let settle = move |message: Self, fate| {
            act(fate);
            message.settle(fate);
        };
        // A message in a buffer is never too long for a buffer.
        Self::from_receipt(self, settle).unwrap_or_else(|message| message)
    }

    /// Returns this message with the receipts of the messages that it was made of: their fate will be that of
    /// this message. A layer that decodes received messages into new memory calls the method, so that the
    /// messages are acknowledged after the work, and not by the layer.
    ///
    /// It costs nothing if no message has a [receipt](Self::has_receipt). Otherwise this message has neither
    /// headroom nor tailroom afterwards.
    #[must_use]
    pub fn with_receipts_of(self, received: impl IntoIterator<Item = Self>) -> Self {
        let received = received.into_iter().filter(Self::has_receipt);
        // An iterator without items makes a vector without memory.
        let received: Vec<_> = received.collect();
        if received.is_empty() {
            return self;
        }
        let settle = move |_, fate| received.into_iter().for_each(|received| received.settle(fate));
        Self::from_receipt(self, settle).unwrap_or_else(|message| message)
    }
}

/// A received message with its receipt, above the layer that decodes messages.
///
/// The message is delivered again, to any receiver, unless [`done`](Self::done) is called: a task that fails, is
/// cancelled, or returns early loses nothing.
///
/// ```
/// # use bertha_core::WithReceipt;
/// # async fn ship(_: &str) -> Result<(), bertha_core::Error> { Ok(()) }
/// async fn handle(order: WithReceipt<String>) -> Result<(), bertha_core::Error> {
///     ship(&order).await?;
///     order.done();
///     Ok(())
/// }
/// ```
///
/// The same type is sent: `WithReceipt::from(message)` is a message without a receipt.
pub struct WithReceipt<T> {
    message: T,
    receipt: Option<Buf>,
}

impl<T> WithReceipt<T> {
    /// Returns `message`, which was decoded from `received`.
    pub fn new(message: T, received: Buf) -> Self {
        Self { message, receipt: received.has_receipt().then_some(received) }
    }

    /// Acknowledges the message and returns it: the receiver has finished its work.
    pub fn done(self) -> T {
        self.settle(Fate::Done)
    }

    /// Lets the service deliver the message again at once, to any receiver.
    pub fn give_back(self) {
        self.settle(Fate::GivenBack);
    }

    fn settle(self, fate: Fate) -> T {
        if let Some(receipt) = self.receipt {
            receipt.settle(fate);
        }
        self.message
    }
}

impl<T> From<T> for WithReceipt<T> {
    fn from(message: T) -> Self {
        Self { message, receipt: None }
    }
}

impl<T> std::ops::Deref for WithReceipt<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T> std::ops::DerefMut for WithReceipt<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

debug_fields!(WithReceipt<T: Debug> { message });

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn delivered() -> (Buf, Receiver<Fate>) {
        let (fates, fate) = channel();
        let settle = move |_, fate| fates.send(fate).unwrap();
        (Buf::from_receipt(b"hello".to_vec(), settle).unwrap(), fate)
    }

    #[test]
    fn a_message_is_done_once_each_part_is_done() {
        let (mut rest, fate) = delivered();
        let first = rest.split_to(2).unwrap();
        rest.done();
        assert!(fate.try_recv().is_err());
        first.done();
        assert_eq!(fate.recv(), Ok(Fate::Done));
        assert!(fate.recv().is_err(), "settled twice");
    }

    #[test]
    fn the_fate_of_a_message_is_that_of_its_worst_part() {
        for (one, other) in [
            (Fate::Done, Fate::Dropped),
            (Fate::Dropped, Fate::Done),
            (Fate::GivenBack, Fate::Dropped),
            (Fate::Dropped, Fate::GivenBack),
        ] {
            let (mut rest, fate) = delivered();
            rest.split_to(1).unwrap().settle(one);
            rest.settle(other);
            assert_eq!(fate.recv(), Ok(one.max(other)));
        }
    }

    #[test]
    fn a_dropped_message_is_not_acknowledged() {
        let (message, fate) = delivered();
        drop(message);
        assert_eq!(fate.recv(), Ok(Fate::Dropped));
        let (message, fate) = delivered();
        message.give_back();
        assert_eq!(fate.recv(), Ok(Fate::GivenBack));
        // Burst-wise dropping is dropping.
        let (message, fate) = delivered();
        let mut bufs = crate::buf::RecycledBufs::new();
        bufs.add(message);
        drop(bufs);
        assert_eq!(fate.recv(), Ok(Fate::Dropped));
    }

    #[test]
    fn a_message_in_new_memory_has_the_receipts_of_its_parts() {
        let (one, fate_of_one) = delivered();
        let (other, fate_of_other) = delivered();
        let plain = Buf::copy_of(b"plain", 0).unwrap();
        let whole = Buf::copy_of(b"whole", 0).unwrap().with_receipts_of([one, plain, other]);
        assert_eq!((&*whole, whole.has_receipt()), (&b"whole"[..], true));
        // Making the message smaller keeps the receipt.
        let whole = whole.fitted(3).kept();
        assert!(fate_of_one.try_recv().is_err());
        whole.done();
        assert_eq!([fate_of_one.recv(), fate_of_other.recv()], [Ok(Fate::Done), Ok(Fate::Done)]);
    }

    #[test]
    fn a_layer_learns_the_fate_first() {
        let (message, fate) = delivered();
        let (tell, told) = channel();
        let mut message = message.when_settled(move |fate| tell.send((fate, "layer")).unwrap());
        message.advance(2).unwrap();
        assert_eq!(&*message, b"llo");
        drop(message);
        assert_eq!((told.recv(), fate.recv()), (Ok((Fate::Dropped, "layer")), Ok(Fate::Dropped)));
        let plain = Buf::copy_of(b"plain", 9).unwrap().when_settled(|_| panic!("has no receipt"));
        assert_eq!(plain.headroom(), 9);
    }

    #[test]
    fn a_message_without_a_receipt_stays_as_it_is() {
        let whole = Buf::copy_of(b"whole", 9).unwrap();
        let whole = whole.with_receipts_of([Buf::copy_of(b"part", 0).unwrap()]);
        assert_eq!((whole.has_receipt(), whole.headroom()), (false, 9));
        whole.done();
    }

    #[test]
    fn a_message_with_its_receipt_is_done_by_an_act_alone() {
        let (message, fate) = delivered();
        let message = WithReceipt::new(7, message);
        assert_eq!((*message, message.done(), fate.recv()), (7, 7, Ok(Fate::Done)));
        let (message, fate) = delivered();
        drop(WithReceipt::new(7, message));
        assert_eq!(fate.recv(), Ok(Fate::Dropped));
        let (message, fate) = delivered();
        WithReceipt::new(7, message).give_back();
        assert_eq!(fate.recv(), Ok(Fate::GivenBack));
        assert_eq!(WithReceipt::from(7).done(), 7);
    }
}
