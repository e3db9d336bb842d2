//! Calls that go to the newest stack.

use super::epoch::{Epoch, Epochs};
use super::sync::Arc;
use bertha_core::{Connection, Error};

impl<C: Connection> Epochs<C> {
    pub(crate) fn mtu(&self) -> usize {
        self.newest().connection.mtu()
    }

    pub(crate) async fn drain(&self) -> Result<(), Error> {
        let newest = self.newest();
        newest.connection.drain().await
    }

    /// Makes `new` the epoch in which this end sends. `activate` lets a close of the new stack notify the
    /// peer, and `deactivate` ends this for the old stack. The order leaves no moment at which a close of the
    /// newest stack notifies nobody.
    pub(super) fn begin(&self, new: &Arc<Epoch<C>>, activate: impl FnOnce(), deactivate: impl FnOnce()) {
        activate();
        self.set_newest(new);
        deactivate();
        self.sending.open(new);
    }

    /// Closes the newest stack. A change that ends meanwhile leaves a newer stack, which is closed too: the
    /// link of a stack that was left does not notify the peer.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.begin_close();
        loop {
            let newest = self.newest();
            newest.connection.close().await?;
            if Arc::ptr_eq(&newest, &self.newest()) {
                return Ok(());
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::ErrorKind;
    use bertha_datapath_sim::{PairBase, SimRuntime};
    use futures_util::FutureExt;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::task::Poll;

    /// The top of a stack whose close notifies the peer as long as its link is active.
    struct Stack {
        is_active: AtomicBool,
        /// True if a close has to be polled twice.
        is_slow: bool,
        /// Maximum size of a message, in bytes.
        mtu: usize,
        /// Number of closes that the peer has heard of.
        notified: Arc<AtomicU32>,
    }

    impl Stack {
        fn new(is_active: bool, notified: &Arc<AtomicU32>) -> Self {
            Self { is_active: is_active.into(), is_slow: false, mtu: 0, notified: notified.clone() }
        }
    }

    impl Connection for Stack {
        type Data = u32;
        type Base = PairBase<SimRuntime>;

        fn base(&self) -> &Self::Base {
            panic!("a close needs no base")
        }

        fn mtu(&self) -> usize {
            self.mtu
        }

        async fn send(&self, _: u32) -> Result<(), Error> {
            Ok(())
        }

        async fn recv(&self) -> Result<u32, Error> {
            Err(Error::new(ErrorKind::Closed, "there is no message"))
        }

        async fn drain(&self) -> Result<(), Error> {
            Ok(())
        }

        async fn close(&self) -> Result<(), Error> {
            let mut is_ready = !self.is_slow;
            poll_fn(|_| if std::mem::replace(&mut is_ready, true) { Poll::Ready(()) } else { Poll::Pending })
                .await;
            if self.is_active.load(Ordering::Relaxed) {
                self.notified.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    }

    #[test]
    fn a_close_at_any_moment_of_the_change_notifies_the_peer() {
        let notified = Arc::new(AtomicU32::new(0));
        let [old, new] = [true, false].map(|is_active| Epoch::new(Stack::new(is_active, &notified)));
        let epochs = Epochs::new(&old, || false);
        epochs.sending.first().count(1);
        epochs.sending.close();
        let close = || {
            let before = notified.load(Ordering::Relaxed);
            epochs.close().now_or_never().unwrap().unwrap();
            assert!(notified.load(Ordering::Relaxed) > before, "a close notifies nobody");
        };
        let set_active = |epoch: &Epoch<Stack>, is_active| {
            assert!(epochs.sending.is_closed(), "a message is sent amid the change");
            close();
            epoch.connection.is_active.store(is_active, Ordering::Relaxed);
            close();
        };
        epochs.begin(&new, || set_active(&new, true), || set_active(&old, false));
        assert!(!epochs.sending.is_closed());
        assert_eq!(epochs.sending.total(), 0, "messages of the old epoch count for the new epoch");
        close();
    }

    /// The old stack, whose close began before the change, notifies nobody.
    #[test]
    fn a_close_that_a_change_overtakes_closes_the_newer_stack() {
        let [old_notified, new_notified] = [const { AtomicU32::new(0) }; 2].map(Arc::new);
        let old = Epoch::new(Stack { is_slow: true, ..Stack::new(true, &old_notified) });
        let new = Epoch::new(Stack::new(false, &new_notified));
        let epochs = Epochs::new(&old, || false);
        let mut close = pin!(epochs.close());
        assert!(close.as_mut().now_or_never().is_none());
        let set_active = |epoch: &Epoch<Stack>, is_active| {
            epoch.connection.is_active.store(is_active, Ordering::Relaxed);
        };
        epochs.begin(&new, || set_active(&new, true), || set_active(&old, false));
        close.now_or_never().unwrap().unwrap();
        let notified = [old_notified, new_notified].map(|notified| notified.load(Ordering::Relaxed));
        assert_eq!(notified, [0, 1]);
    }

    #[test]
    fn the_size_of_messages_is_that_of_the_newest_stack() {
        let notified = Arc::new(AtomicU32::new(0));
        let [old, new] = [1_000, 2_000].map(|mtu| Epoch::new(Stack { mtu, ..Stack::new(true, &notified) }));
        let epochs = Epochs::new(&old, || false);
        assert_eq!(epochs.mtu(), 1_000);
        epochs.sending.close();
        epochs.begin(&new, || {}, || {});
        assert_eq!(epochs.mtu(), 2_000);
    }
}
