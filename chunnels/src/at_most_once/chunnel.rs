//! The Chunnel itself.

use super::AtMostOnceConnection;
use super::statistics::Remembered;
use crate::redelivery::Redelivery;
use bertha_core::statistics::Observed;
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::sync::Arc;

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
        let duplicates = context.counts_drops("AtMostOnce", "repeated or late");
        let redelivery = Redelivery::new(inner.base().properties());
        // Without receipts there is nothing to tell but the duplicates.
        let observed = redelivery.counts().map(|_| {
            let redelivery = redelivery.clone();
            let remembered = Arc::new(Remembered { name: "AtMostOnce", redelivery, publishers: || 0 });
            context.observes(&remembered);
            remembered as Arc<dyn Observed>
        });
        Ok(AtMostOnceConnection::new(inner, redelivery, duplicates, observed))
    }
}
