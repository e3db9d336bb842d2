//! Messages that the program encodes by itself.

use super::{Encoding, Serialize};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity, LayerInfo, Node};

/// Stands for [`Serialize`] at an end whose messages are bytes that its program has encoded by itself: a binding for another language, or
/// a proxy. The bytes pass unchanged, and without a copy.
///
/// The other end sees a `Serialize` with this [`Encoding`], and compares it as usual. Nothing checks that the messages are in the format.
///
/// ```
/// use bertha_chunnels::serialize::{Encoding, Preencoded};
///
/// // For an end with `Serialize::<_, Cbor>::new()`.
/// let named = Preencoded::new(Encoding::named("cbor"));
/// // For an end with `Serialize::<_, Cbor>::new().schema("orders-2")`.
/// let with_schema = Preencoded::new(Encoding { schema: "orders-2".into(), ..Encoding::named("cbor") });
/// # let _ = (named, with_schema);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Identity)]
#[chunnel(layers = Self::layers)]
pub struct Preencoded {
    encoding: Encoding,
}

impl Preencoded {
    /// Makes the Chunnel with the encoding that the messages have.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// Returns the encoding, which must be the encoding of the other end.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Returns the layer that the other end sees.
    fn layers(&self) -> Vec<Node> {
        let serialize = <Serialize<Buf> as Identity>::NAME;
        vec![Node::from(LayerInfo::with(serialize, self.encoding.clone()).apart(0))]
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Preencoded {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}
