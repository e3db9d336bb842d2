//! Messages that are encoded already.

use bertha::chunnels::serialize::{Bincode, Encoding};
use bertha::prelude::*;
use bertha::{Buf, Carries, Chunnel, Identity, More};
use bertha_kvstore::Message;

/// Passes on bytes that are what [`Serialize`] would make of a [`Message`].
///
/// It tells the other end the same as `Serialize` does, so the two agree with each other.
#[derive(Debug, Clone, Copy, Identity)]
#[chunnel(capability = Self::encoding)]
pub(super) struct Encoded;

impl Encoded {
    fn encoding(&self) -> Encoding {
        Serialize::<Message, Bincode>::new().encoding()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Encoded {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: More<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}
