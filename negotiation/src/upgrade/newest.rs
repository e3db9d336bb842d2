//! Calls that go to the newest stack.

use super::epoch::Epochs;
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

    /// Closes the newest stack. A change that ends meanwhile leaves a newer stack, which is closed too: the
    /// link of a stack that was left does not notify the peer.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        loop {
            let newest = self.newest();
            newest.connection.close().await?;
            if Arc::ptr_eq(&newest, &self.newest()) {
                return Ok(());
            }
        }
    }
}
