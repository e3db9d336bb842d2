//! The floods against servers with `Noise`, `Quic` and `Tls`, whose handshakes come after the agreement and cost more.

use crate::counting::Counting;
use crate::scene::{server_addr, simulate};
use crate::siege::{Flood, Siege, address, check, credentials, recorded, with};
use bertha_chunnels::{Noise, NoiseKey, Ordered, Quic, Reliable, Tls, TlsIdentity, Trust};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Datapath, Describe, Error, Identity, LayerInfo, Node,
    Runtime, make_stack,
};
use bertha_datapath_sim::{Datagram, Network, SimDatapath};
use bertha_negotiation::{Credentials, Negotiate, Runs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Agrees to a stack, and sends nothing through it.
#[derive(Debug, Clone, Identity)]
#[chunnel(layers = Self::layers)]
struct Silent {
    layers: Vec<LayerInfo>,
}

impl Silent {
    /// Makes a stand-in for `stack`, which has no alternatives.
    fn like(stack: &impl Describe) -> Self {
        let layers = stack.nodes().into_iter().map(|node| match node {
            Node::Layer(layer) => layer,
            Node::Select { .. } => panic!("an alternative"),
        });
        Self { layers: layers.collect() }
    }

    fn layers(&self) -> Vec<LayerInfo> {
        self.layers.clone()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Silent {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

/// Number of places of the server: few, so that a flood soon takes them.
const SLOTS: usize = 64;

/// Makes an identity for `store.example`, and the trust in this identity.
fn certificate() -> (TlsIdentity, Trust) {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    (identity, Trust::ca_pem(made.cert.pem()).unwrap())
}

/// Returns the credentials of both ends: none, so that the certificate alone identifies an end, and
/// identities beside the certificate.
fn kinds() -> [[Credentials; 2]; 2] {
    let [none, _, identities, _] = credentials();
    [none, identities]
}

fn siege<'a, C, S>(
    (client, server): (&C, &S),
    credentials: &'a [Credentials; 2],
    streams: bool,
) -> Siege<'a, C, S>
where
    C: Clone,
    S: Clone,
{
    let (client, server) = (client.clone(), server.clone());
    Siege { client, server, credentials, streams, slots: Some(SLOTS), pause: 16 }
}

/// An attacker replays offers of the past from addresses that no host has.
fn replayed<C, S>(stacks: (&C, &S))
where
    C: Negotiate + Clone + 'static,
    SimDatapath: Runs<C, Out: Connection<Data = Buf>>,
    S: Negotiate + Clone + 'static,
    Counting: Runs<S, Out: Connection<Data = Buf>>,
{
    for kind in &kinds() {
        for (per_second, is_near) in [(200, true), (5_000, false)] {
            let flood = Flood { per_second, lasts: Duration::from_millis(1200), is_near };
            let result = simulate(1, async |network: Network| {
                network.answer_closed_ports(false);
                let offer = recorded(&network, stacks.0.clone(), &kind[0]).await;
                let to = server_addr().ip("flood").unwrap();
                let inject = network.clone();
                let strike = async |struck| {
                    let from = address(flood, struck);
                    inject.inject(&Datagram { from, to, payload: offer.clone() }).unwrap();
                };
                siege(stacks, kind, false).run(&network, flood, strike).await
            });
            check(1, &format!("{flood:?}"), result, SLOTS + 100);
        }
    }
}

/// Clients with addresses of their own agree on a stack, and then send no message of the secure Chunnel's
/// handshake.
fn agreed_and_silent<C, S>(stacks: (&C, &S), streams: bool)
where
    C: Describe,
    C: Negotiate + Clone + 'static,
    SimDatapath: Runs<C, Out: Connection<Data = Buf>>,
    S: Negotiate + Clone + 'static,
    Counting: Runs<S, Out: Connection<Data = Buf>>,
{
    // The strangers come from one network, from the networks of the honest clients, and each from a network
    // of its own. A server needs half a second to tell strangers with networks of their own from a crowd.
    for (per_second, shape) in [(300, None), (300, Some(true)), (1200, Some(false))] {
        for kind in &kinds() {
            let lasts = Duration::from_millis(if shape.is_none() { 1500 } else { 2600 });
            let flood = Flood { per_second, lasts, is_near: shape == Some(true) };
            let result = simulate(1, async |network: Network| {
                let (attack, tasks) = (network.clone(), network.runtime().clone());
                let kept = Arc::new(Mutex::new(Vec::new()));
                let strike = async |struck: u32| {
                    let [_, high, middle, low] = struck.to_be_bytes();
                    let ip = match shape {
                        None => [100, 0, 0, 9],
                        Some(true) => [10, low % 3, 1, 200],
                        Some(false) => [100, middle, low, high + 1],
                    };
                    let host = attack.host(ip);
                    let host = if streams { host.streams() } else { host };
                    let (stack, settings, kept) =
                        (Silent::like(stacks.0), with(&kind[0], None), kept.clone());
                    std::mem::forget(tasks.spawn(async move {
                        let connected = stack.connect(host, server_addr()).settings(settings).await;
                        kept.lock().unwrap().extend(connected);
                    }));
                };
                siege(stacks, kind, streams).run(&network, flood, strike).await
            });
            check(1, &format!("agreed and silent, {flood:?}"), result, 4 * SLOTS + 100);
        }
    }
}

/// An attacker opens streams and sends nothing over them.
fn silent_streams<C, S>(stacks: (&C, &S))
where
    C: Negotiate + Clone + 'static,
    SimDatapath: Runs<C, Out: Connection<Data = Buf>>,
    S: Negotiate + Clone + 'static,
    Counting: Runs<S, Out: Connection<Data = Buf>>,
{
    for kind in &kinds() {
        for (per_second, is_near) in [(40, true), (1000, false)] {
            let flood = Flood { per_second, lasts: Duration::from_millis(1500), is_near };
            let result = simulate(1, async |network: Network| {
                let (attack, tasks) = (network.clone(), network.runtime().clone());
                let kept = Arc::new(Mutex::new(Vec::new()));
                let strike = async |struck| {
                    let (datapath, kept) = (attack.host(address(flood, struck).ip()).streams(), kept.clone());
                    std::mem::forget(tasks.spawn(async move {
                        let connected = datapath.connect(server_addr()).await;
                        kept.lock().unwrap().extend(connected);
                    }));
                };
                siege(stacks, kind, true).run(&network, flood, strike).await
            });
            check(1, &format!("{flood:?}"), result, SLOTS + 100);
        }
    }
}

#[test]
fn floods_keep_nobody_out_of_noise() {
    let (client, server) = (NoiseKey::from_bytes([1; 32]), NoiseKey::from_bytes([2; 32]));
    let here = make_stack!(Noise::client(client.clone(), server.public()));
    let there = make_stack!(Noise::server(server, [client.public()]));
    replayed((&here, &there));
    agreed_and_silent((&here, &there), false);
}

#[test]
fn floods_keep_nobody_out_of_quic() {
    let (identity, trust) = certificate();
    let here = make_stack!(Quic::client("store.example", trust).unwrap());
    let there = make_stack!(Quic::server(identity).unwrap());
    replayed((&here, &there));
    agreed_and_silent((&here, &there), false);
}

#[test]
fn floods_keep_nobody_out_of_tls() {
    let (identity, trust) = certificate();
    let here = Tls::client("store.example", trust).unwrap();
    let there = Tls::server(identity).unwrap();
    let over = |tls: &Tls| make_stack!(tls.clone(), Ordered::new(), Reliable::new());
    replayed((&over(&here), &over(&there)));
    agreed_and_silent((&over(&here), &over(&there)), false);
    let (here, there) = (make_stack!(here), make_stack!(there));
    silent_streams((&here, &there));
    agreed_and_silent((&here, &there), true);
}
