//! Messages that the daemon lends.
#![allow(unsafe_code)]

use super::link::Link;
use crate::InHeap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A message in the receive heap of this application. It is read in place, and goes back to the daemon when this value is dropped.
pub struct Lent<M> {
    link: Arc<Link>,
    message: InHeap,
    kind: PhantomData<M>,
}

impl<M> Lent<M> {
    /// Takes a message. Returns `None`, and gives the message back, if it does not lie in the heap as an `M` does.
    ///
    /// # Safety
    /// The daemon has lent the message as one of this type, and nothing else gives it back.
    pub(super) unsafe fn new(link: Arc<Link>, message: InHeap) -> Option<Self> {
        let lent = Self { link, message, kind: PhantomData };
        lent.get().is_some().then_some(lent)
    }

    fn get(&self) -> Option<&M> {
        // SAFETY: the daemon has lent the message as one of this type, by the promise of `new`, and it goes back in the drop alone, which
        // no borrow of `self` outlives. Messages have no interior mutability, as those of a service have none.
        unsafe { self.link.control.received.get(self.message.at) }
    }
}

impl<M> Deref for Lent<M> {
    type Target = M;

    #[inline]
    fn deref(&self) -> &M {
        match self.get() {
            Some(message) => message,
            None => unreachable!("the heap has what it had, and `new` has looked"),
        }
    }
}

impl<M> Drop for Lent<M> {
    fn drop(&mut self) {
        self.link.give_back(self.message);
    }
}

impl<M: fmt::Debug> fmt::Debug for Lent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
