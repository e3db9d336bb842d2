//! A layer above a reliable layer passes `drain` on, and so no message is lost when the stack changes.

use crate::scene::{B, bytes, simulate};
use crate::traffic::connect;
use bertha_chunnels::{Ordered, Reliable};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Runtime, make_stack, select,
};
use bertha_datapath_sim::{Link, Network};
use bertha_negotiation::{Negotiate, Pick, Settings};
use futures_util::future::{Either, select as first};
use std::pin::pin;
use std::time::Duration;

const COUNT: u32 = 2_000;

/// A Chunnel that changes nothing, and may forget to pass `drain` on.
#[derive(Debug, Clone, Copy, Identity)]
struct Layer {
    passes_drain: bool,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Layer {
    type Connection = LayerConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(LayerConnection { inner, passes_drain: self.passes_drain })
    }
}

struct LayerConnection<Inner> {
    inner: Inner,
    passes_drain: bool,
}

impl<Inner: Carries<Buf, Layer>> Connection for LayerConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send {
        self.inner.recv()
    }

    async fn drain(&self) -> Result<(), Error> {
        if self.passes_drain { self.inner.drain().await } else { Ok(()) }
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

/// Returns the number of messages that arrive, in order, over a network that loses every tenth packet, while
/// the stack changes three times from and to a stack with this layer.
fn arriving(seed: u64, layer: Layer) -> u32 {
    simulate(seed, async |network: Network| {
        let stack = || make_stack!(select!(layer, B), Ordered::new(), Reliable::new()).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        network.set_link(Link { loss: 0.1, ..Link::default() });
        let sending = async {
            for number in 0..COUNT {
                client.send(bytes(&number.to_le_bytes())).await.unwrap();
            }
        };
        let changing = async {
            for alternative in [1, 0, 1] {
                let runtime = network.runtime();
                runtime.sleep_until(runtime.now() + Duration::from_millis(20)).await;
                client.upgrade(Pick::alternative(alternative)).await.unwrap();
            }
        };
        let receiving = async {
            let (mut count, mut last) = (0, None);
            while count < COUNT {
                let runtime = network.runtime();
                let silence = pin!(runtime.sleep_until(runtime.now() + Duration::from_secs(10)));
                let Either::Left((message, _)) = first(pin!(server.recv()), silence).await else { break };
                let number = u32::from_le_bytes(message.unwrap()[..].try_into().unwrap());
                assert!(last < Some(number), "{number} after {last:?}");
                (count, last) = (count + 1, Some(number));
            }
            count
        };
        let (count, (), ()) = futures_util::join!(receiving, sending, changing);
        count
    })
}

#[test]
fn a_layer_that_passes_drain_on_loses_nothing() {
    for seed in 0..20 {
        assert_eq!(arriving(seed, Layer { passes_drain: true }), COUNT, "seed {seed}");
    }
}

/// The test above notices a layer that does not pass `drain` on.
#[test]
fn a_layer_that_keeps_drain_to_itself_loses_messages() {
    assert!((0..20).any(|seed| arriving(seed, Layer { passes_drain: false }) < COUNT));
}
