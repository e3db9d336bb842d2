//! The bottom of the stack as the layers above see it.

use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Properties};
use std::fmt;

/// The base of the connection below, with the MTU of whole messages.
pub struct FragmentBase<Inner> {
    pub(super) inner: Inner,
    /// The largest message, and what the layers from this one down put in front of it.
    mtu: usize,
}

impl<Inner: Connection> FragmentBase<Inner> {
    /// `inner` has reserved what it and this layer need.
    pub(super) fn new(inner: Inner, limit: usize) -> Self {
        let mtu = limit + inner.base().reserved();
        Self { inner, mtu }
    }
}

impl<Inner: Connection> Base for FragmentBase<Inner> {
    type Runtime = <Inner::Base as Base>::Runtime;

    fn runtime(&self) -> &Self::Runtime {
        self.inner.base().runtime()
    }

    /// From the datapath if the message can go in one piece; from the pool if it will be cut.
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let base = self.inner.base();
        let headroom = base.reserved();
        let whole = len.saturating_add(headroom);
        if whole <= base.mtu() {
            return base.buffer(len);
        }
        if whole > self.mtu {
            let most = self.mtu.saturating_sub(headroom);
            let what = format!("message of {len} bytes, at most {most} fit");
            return Err(Error::new(ErrorKind::TooLarge, what).at("Fragment"));
        }
        Buf::new(len, headroom)
    }

    fn reserve(&self, bytes: usize) {
        self.inner.base().reserve(bytes);
    }

    fn release(&self, bytes: usize) {
        self.inner.base().release(bytes);
    }

    fn reserved(&self) -> usize {
        self.inner.base().reserved()
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn local_addr(&self) -> Addr {
        self.inner.base().local_addr()
    }

    fn peer_addr(&self) -> Addr {
        self.inner.base().peer_addr()
    }

    fn properties(&self) -> Properties {
        self.inner.base().properties()
    }
}

impl<Inner: fmt::Debug> fmt::Debug for FragmentBase<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FragmentBase").field("inner", &self.inner).field("mtu", &self.mtu).finish()
    }
}
