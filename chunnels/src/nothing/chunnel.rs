//! The Chunnel itself.

use super::NothingConnection;
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};

/// Passes every message through, in both directions, whatever its type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(one_sided)]
pub struct Nothing;

impl<Inner: Connection> Chunnel<Inner> for Nothing {
    type Connection = NothingConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(NothingConnection::new(inner))
    }
}
