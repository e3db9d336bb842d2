//! Chunnels that compute their parameters from the capabilities of both ends.

use crate::early_scene::open;
use crate::scene::{A, bytes, client, echo, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::capability::{Mismatch, overlap};
use bertha_core::{
    Addr, Buf, Capability, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Role, Runtime,
    make_stack, select,
};
use bertha_datapath_sim::Network;
use bertha_negotiation::{EarlyCache, Negotiate, Pick, ZeroRtt};
use serde::{Deserialize, Serialize as SerializeData};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The rate that an end can take, and the ciphers that it knows.
#[derive(Debug, Clone, PartialEq, SerializeData, Deserialize)]
struct Abilities {
    rate: u32,
    ciphers: BTreeSet<String>,
}

impl Capability for Abilities {
    const ID: &'static str = "test::Abilities";

    fn compatible(&self, other: &Self) -> Result<(), Mismatch> {
        overlap(&self.ciphers, &other.ciphers)
    }
}

/// The end, the rate and the cipher of each connection that was built, in order.
type Agreed = Arc<Mutex<Vec<(Role, u32, String)>>>;

/// Uses the smaller rate, and the first cipher that both ends know.
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = Self::abilities)]
struct Limited {
    abilities: Abilities,
    agreed: Agreed,
}

impl Limited {
    fn new(rate: u32, ciphers: &[&str], agreed: &Agreed) -> Self {
        let ciphers = ciphers.iter().map(|cipher| (*cipher).to_owned()).collect();
        Self { abilities: Abilities { rate, ciphers }, agreed: agreed.clone() }
    }

    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Limited {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        let peer = context.peer_capability::<Abilities>().unwrap();
        let rate = self.abilities.rate.min(peer.rate);
        let cipher = self.abilities.ciphers.intersection(&peer.ciphers).next().unwrap().clone();
        self.agreed.lock().unwrap().push((context.role(), rate, cipher));
        Ok(inner)
    }
}

fn taken(agreed: &Agreed, of: Role) -> Vec<(u32, String)> {
    let all = agreed.lock().unwrap();
    all.iter().filter(|(role, ..)| *role == of).map(|(_, rate, cipher)| (*rate, cipher.clone())).collect()
}

/// Checks that both ends have agreed on these rates and ciphers, in this order.
fn assert_agreed(agreed: &Agreed, expected: &[(u32, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(rate, cipher)| (*rate, (*cipher).to_owned())).collect();
    for role in [Role::Client, Role::Server] {
        assert_eq!(taken(agreed, role), expected, "{role:?}");
    }
}

#[test]
fn two_ends_agree_on_the_smaller_rate_and_a_common_cipher() {
    for ([at_client, at_server], rate) in [([100, 40], 40), ([7, 40], 7), ([40, 40], 40)] {
        simulate(1, async |network: Network| {
            let agreed = Agreed::default();
            // The stack has two layers of the kind, and other layers around them.
            let stack = |rate, ciphers| {
                let limited = |rate| Limited::new(rate, ciphers, &agreed);
                make_stack!(A, limited(1000 + rate), select!(make_stack!(A, limited(rate)), A))
            };
            let incoming = stack(at_server, &["chacha", "gcm"]).listen(server(&network), server_addr()).await;
            echo(&network, incoming.unwrap(), |error| panic!("{error}"));
            let connection =
                stack(at_client, &["aes", "chacha"]).connect(client(&network), server_addr()).await.unwrap();
            connection.send(bytes(b"hello")).await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *b"hello");
            // The layers are built from the bottom up.
            assert_agreed(&agreed, &[(rate, "chacha"), (1000 + rate, "chacha")]);
        });
    }
}

#[test]
fn two_ends_agree_anew_when_they_change_their_stack() {
    for by_server in [false, true] {
        simulate(2, async |network: Network| {
            let agreed = Agreed::default();
            let stack = |rate| make_stack!(select!(A, Limited::new(rate, &["aes"], &agreed))).upgradable();
            let mut incoming = stack(50).listen(server(&network), server_addr()).await.unwrap();
            let upgradable = stack(9);
            let connecting = async { upgradable.connect(client(&network), server_addr()).await.unwrap() };
            let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting);
            let served = served.unwrap().unwrap();
            assert_agreed(&agreed, &[]);
            let wish = async {
                match by_server {
                    true => served.upgrade(Pick::alternative(1)).await.map(drop),
                    false => connected.upgrade(Pick::alternative(1)).await.map(drop),
                }
                .unwrap();
                connected.send(bytes(b"one")).await.unwrap();
                served.send(bytes(b"two")).await.unwrap();
            };
            let ((), at_client, at_server) = futures_util::join!(wish, connected.recv(), served.recv());
            assert_eq!((&*at_client.unwrap(), &*at_server.unwrap()), (&b"two"[..], &b"one"[..]));
            assert_agreed(&agreed, &[(9, "aes")]);
        });
    }
}

#[test]
fn a_client_that_connects_early_has_what_the_server_said_the_last_time() {
    simulate(3, async |network: Network| {
        let (agreed, cache) = (Agreed::default(), EarlyCache::new());
        let stack = |rate| make_stack!(Serialize::<String>::new(), Limited::new(rate, &["aes"], &agreed));
        let pause = || network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(1));
        let mut serving = None;
        for (at_server, became, agreements) in [
            (
                50,
                ZeroRtt::NotTried("no agreement with this server is known by which it takes early data"),
                &[(50, "aes")][..],
            ),
            (50, ZeroRtt::Taken(1), &[(50, "aes")]),
            // The server no longer has the stack of the old rate, so it takes no message over that stack.
            (30, ZeroRtt::Resent(1), &[(30, "aes")]),
        ] {
            // A server with another rate is another server.
            if serving.as_ref().is_none_or(|(rate, _)| *rate != at_server) {
                network.restart(crate::scene::SERVER);
                let listening = stack(at_server).listen(server(&network), server_addr()).settings(open());
                serving = Some((at_server, crate::early_scene::record(&network, listening.await.unwrap())));
            }
            let Some((_, history)) = &serving else { unreachable!() };
            agreed.lock().unwrap().clear();
            let connecting = stack(99);
            let connection = connecting.connect(client(&network), server_addr()).early(&cache).await.unwrap();
            connection.send("hello".into()).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), "hello");
            assert_eq!(connection.explain().zero_rtt(), Some(&became));
            let at_client = taken(&agreed, Role::Client);
            assert_eq!(at_client.last(), taken(&agreed, Role::Server).last(), "{became}");
            agreed.lock().unwrap().retain(|(_, rate, _)| *rate == at_server);
            assert_agreed(&agreed, agreements);
            assert_eq!(at_client.len(), if at_server == 30 { 2 } else { 1 });
            assert_eq!(history.lock().unwrap().pop(), Some(vec!["hello".to_owned()]));
            connection.close().await.unwrap();
            pause().await;
        }
    });
}

/// Opens a further connection, to another server.
#[derive(Debug, Clone, Identity)]
#[chunnel(one_sided)]
struct Twice(Addr);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Twice {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        // The first connection is not needed: the Chunnel uses the other server.
        drop(inner);
        context.connect(self.0.clone()).await
    }
}

#[test]
fn a_further_connection_has_the_capabilities_of_its_own_server() {
    simulate(4, async |network: Network| {
        let agreed = Agreed::default();
        let other: Addr = (crate::scene::SERVER, 5555).into();
        for (at, rate, cipher) in [(server_addr(), 80, "aes"), (other.clone(), 20, "gcm")] {
            let stack = make_stack!(Limited::new(rate, &[cipher], &agreed), A);
            echo(&network, stack.listen(server(&network), at).await.unwrap(), |error| panic!("{error}"));
        }
        let stack = make_stack!(Twice(other), Limited::new(60, &["aes", "gcm"], &agreed), A);
        let connection = stack.connect(client(&network), server_addr()).await.unwrap();
        connection.send(bytes(b"hello")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"hello");
        assert_agreed(&agreed, &[(60, "aes"), (20, "gcm")]);
    });
}

/// An early connection changes its stack as any other connection.
#[test]
fn a_connection_that_was_made_early_can_be_upgraded() {
    simulate(5, async |network: Network| {
        let (agreed, cache) = (Agreed::default(), EarlyCache::new());
        let stack = |rate| {
            let limited = Limited::new(rate, &["aes"], &agreed);
            make_stack!(Serialize::<String>::new(), select!(A, limited)).upgradable()
        };
        let listening = stack(50).listen(server(&network), server_addr()).settings(open());
        let incoming = listening.await.unwrap();
        crate::early_scene::record(&network, incoming);
        for became in [
            ZeroRtt::NotTried("no agreement with this server is known by which it takes early data"),
            ZeroRtt::Taken(1),
        ] {
            agreed.lock().unwrap().clear();
            let connection = stack(9).connect(client(&network), server_addr()).early(&cache).await.unwrap();
            connection.send("one".into()).await.unwrap();
            let (upgraded, received) =
                futures_util::join!(connection.upgrade(Pick::alternative(1)), connection.recv());
            assert_eq!(received.unwrap(), "one");
            let upgraded = upgraded.unwrap();
            assert_eq!((upgraded.round(), upgraded.zero_rtt()), (1, Some(&became)));
            assert_eq!(upgraded.to_string(), connection.explain().to_string());
            connection.send("two".into()).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), "two");
            assert_agreed(&agreed, &[(9, "aes")]);
        }
    });
}
