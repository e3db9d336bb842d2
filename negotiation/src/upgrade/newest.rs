//! Calls that go to the newest stack.

use super::epoch::Epochs;
use bertha_core::{Connection, Error};

impl<C: Connection> Epochs<C> {
    pub(crate) fn mtu(&self) -> usize {
        self.newest().connection.mtu()
    }

    pub(crate) async fn drain(&self) -> Result<(), Error> {
        let newest = self.newest();
        newest.connection.drain().await
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        let newest = self.newest();
        newest.connection.close().await
    }
}
