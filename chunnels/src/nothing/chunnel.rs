//! The Chunnel itself.

use super::NothingConnection;
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};

/// Passes messages of any type through, in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(apart = 0, one_sided)]
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
