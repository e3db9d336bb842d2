//! Messages that are encoded already.

use crate::Error;
use crate::codec::{Bincode, Codec};
use crate::workload::{Phase, Workload};
use bertha::core::{LayerInfo, Node};
use bertha::prelude::*;
use bertha::{Buf, Carries, Chunnel, ConnectContext, Identity};

/// Passes on bytes that are what the layers it stands for would make of messages.
///
/// It tells the other end the same as they do, so the two agree with each other.
#[derive(Debug, Clone, Identity)]
#[chunnel(layers = Self::layers)]
pub(crate) struct Encoded {
    layers: Vec<LayerInfo>,
}

impl Encoded {
    /// In the place of `layers`, without the alternatives among them.
    pub(crate) fn like(layers: &impl Describe) -> Self {
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

/// The requests of a phase as they travel. Their ids are all alike: nobody looks at them.
pub(crate) fn requests(workload: &Workload, phase: Phase) -> Result<Vec<Vec<u8>>, Error> {
    let mut requests = Vec::new();
    for (_, mut script) in workload.scripts(1) {
        for position in 0..2 * script.records() {
            let request = script.request(phase, position);
            let mut space = vec![0; 1024 + request.key.len() + workload.value_bytes];
            let length = Bincode.encode(request, &mut space)?;
            space.truncate(length);
            requests.push(space);
        }
    }
    Ok(requests)
}
