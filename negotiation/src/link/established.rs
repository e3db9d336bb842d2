//! A link as the server sees it that counts its connections.

use super::{Link, Shared};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};

/// A connection that its server may give up for others.
pub(crate) trait Established: Send + Sync {
    /// The running count of messages of the peer.
    fn arrivals(&self) -> u32;

    /// Ends the connection: this end's calls fail with [`Reset`](ErrorKind::Reset) and `reason`, and the peer is told once, if the datapath
    /// takes the message at once.
    fn give_up(&self, reason: &str);
}

impl<C: Connection<Data = Buf>> Established for Shared<C> {
    fn arrivals(&self) -> u32 {
        self.liveness.arrivals()
    }

    fn give_up(&self, reason: &str) {
        self.liveness.not_agreed(&Error::new(ErrorKind::Reset, reason.to_owned()));
        let told = pin!(self.send_close(reason.into()));
        let _ = told.poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// The link, as long as there is one.
    pub(crate) fn established(&self) -> Weak<dyn Established> {
        let shared: Arc<dyn Established> = self.shared.clone();
        Arc::downgrade(&shared)
    }
}
