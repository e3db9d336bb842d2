//! The Chunnel that does the work of two.

use crate::Checked;
use bertha_chunnels::serialize::{Codec, SerializeConnection};
use bertha_chunnels::{Checksum, Serialize};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Describe, Error, Identity, Node};
use std::fmt;

/// [`Serialize`] and [`Checksum`] in one: encodes each message behind the place of its checksum, in the same buffer.
///
/// The other end sees the two layers, and may have them. Damaged messages are dropped, and counted with
/// messages that do not decode, in [`SerializeConnection::malformed`].
#[derive(Identity)]
#[chunnel(layers = Self::layers, guarantees(IntegrityChecked))]
pub struct SerializeChecked<T, C> {
    serialize: Serialize<T, C>,
    checksum: Checksum,
}

impl<T, C> SerializeChecked<T, C> {
    /// Makes a Chunnel that works as `serialize` above `checksum`.
    pub fn new(serialize: Serialize<T, C>, checksum: Checksum) -> Self {
        Self { serialize, checksum }
    }

    /// The layers that the other end sees, top first.
    fn layers(&self) -> Vec<Node> {
        [self.serialize.nodes(), self.checksum.nodes()].concat()
    }
}

impl<T, C, Inner> Chunnel<Inner> for SerializeChecked<T, C>
where
    T: Send + 'static,
    C: Codec<T>,
    Inner: Carries<Buf, Self>,
{
    type Connection = SerializeConnection<Inner, T, Checked<C>>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let codec = Checked::new(self.serialize.codec().clone());
        Serialize::with_codec(codec).connect_wrap(inner, context).await
    }
}

// The traits are implemented by hand, since a derive would require them of the messages as well.
impl<T, C: Clone> Clone for SerializeChecked<T, C> {
    fn clone(&self) -> Self {
        Self { serialize: self.serialize.clone(), checksum: self.checksum }
    }
}

impl<T, C> fmt::Debug for SerializeChecked<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} over {:?}", self.serialize, self.checksum)
    }
}
