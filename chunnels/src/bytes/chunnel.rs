//! The Chunnel itself.

use super::BytesConnection;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Carries a stream of bytes over messages. See the [module](crate::bytes).
///
/// ```
/// use bertha_chunnels::{Bytes, Ordered, Reliable};
/// use bertha_core::make_stack;
/// let stack = make_stack!(Bytes, Ordered::new(), Reliable::new());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(needs(Reliable, Ordered))]
pub struct Bytes;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Bytes {
    type Connection = BytesConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(BytesConnection::new(inner))
    }
}
