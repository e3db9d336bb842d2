//! Messages that are encoded already.

use crate::Error;
use crate::kv::{Format, Phase, Postcard, Workload};
use bertha::core::{LayerInfo, Node};
use bertha::prelude::*;
use bertha::{Buf, Carries, Chunnel, ConnectContext, Identity};

/// A layer that passes on bytes in the form that the replaced layers would make of messages, and negotiates
/// as these layers do.
#[derive(Debug, Clone, Identity)]
#[chunnel(layers = Self::layers)]
pub(super) struct Encoded {
    layers: Vec<LayerInfo>,
}

impl Encoded {
    /// Creates the layer in the place of `layers`, without the alternatives among them.
    pub(super) fn like(layers: &impl Describe) -> Self {
        let layers = layers.nodes().into_iter().filter_map(|node| match node {
            Node::Layer(layer) => Some(layer),
            Node::Select { .. } => None,
        });
        Self { layers: layers.collect() }
    }

    fn layers(&self) -> Vec<LayerInfo> {
        self.layers.clone()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Encoded {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, bertha::Error> {
        Ok(inner)
    }
}

/// Returns the requests of the mix in their encoded form. Their ids are all equal: no end reads them.
pub(super) fn requests(workload: &Workload) -> Result<Vec<Vec<u8>>, Error> {
    let mut script = workload.script()?;
    let encoded = (0..2 * script.records()).map(|position| {
        let request = script.request(Phase::Mix, position);
        let mut space = vec![0; 1024 + request.key.len() + workload.value_bytes];
        let length = Postcard::encode(request, &mut space)?;
        space.truncate(length);
        Ok(space)
    });
    encoded.collect()
}
