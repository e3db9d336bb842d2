//! The Chunnel itself.

use super::AtMostOnceConnection;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Drops messages that arrive again. See the [module](crate::at_most_once).
///
/// The connection below has to keep messages undamaged, as UDP does: a damaged number counts as the number of
/// another message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(guarantees(AtMostOnce))]
pub struct AtMostOnce;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for AtMostOnce {
    type Connection = AtMostOnceConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(AtMostOnceConnection::new(inner, context.counts_drops("AtMostOnce", "repeated or late")))
    }
}
