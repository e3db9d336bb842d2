//! A stack that does not get ready in time, or whose proposal does not reach the other end: both ends keep
//! the stack in use.

use crate::scene::{A, B, CLIENT, SERVER, bytes, simulate};
use crate::traffic::connect;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Role, Runtime, make_stack, select,
};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Negotiated, Pick, Settings};
use bertha_tests::seeds;
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::time::Duration;

/// Waits, on the end with this role, for a message that the peer never sends.
#[derive(Debug, Clone, Identity)]
pub(crate) struct Waits(pub(crate) Role);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Waits {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == self.0 {
            inner.recv().await?;
        }
        Ok(inner)
    }
}

/// Receives for a while, and checks that no message arrives and that the connection does not end.
pub(crate) async fn rests(network: &Network, end: &impl Connection<Data = Buf>, pause: Duration) {
    let runtime = network.runtime();
    let timer = pin!(runtime.sleep_until(runtime.now() + pause));
    if let Either::Left((received, _)) = first_of(pin!(end.recv()), timer).await {
        panic!("{received:?}");
    }
}

/// Sends a message each way.
async fn talk<X, Y>(client: &Negotiated<X>, server: &Negotiated<Y>)
where
    X: Connection<Data = Buf>,
    Y: Connection<Data = Buf>,
{
    client.send(bytes(b"there")).await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"there");
    server.send(bytes(b"back")).await.unwrap();
    assert_eq!(*client.recv().await.unwrap(), *b"back");
}

/// Returns settings with an idle time-out that is longer than building a stack may take, and with a shorter
/// idle time-out.
fn settings() -> impl Iterator<Item = Settings> {
    [30, 2].into_iter().map(|idle| {
        let mut settings = Settings::default();
        settings.idle_timeout = Duration::from_secs(idle);
        settings
    })
}

#[test]
fn a_chunnel_that_does_not_get_ready_ends_nothing() {
    for settings in settings() {
        for (waiting, proposer) in [Role::Client, Role::Server]
            .into_iter()
            .flat_map(|waiting| [Role::Client, Role::Server].map(|proposer| (waiting, proposer)))
        {
            simulate(1, async |network: Network| {
                let stack = || make_stack!(select!(A, make_stack!(Waits(waiting)), B)).upgradable();
                let (client, server) = connect(&network, stack(), stack(), settings.clone()).await;
                let change = async |to| match proposer {
                    Role::Server => server.upgrade(Pick::alternative(to)).await,
                    _ => client.upgrade(Pick::alternative(to)).await,
                };
                for is_receiving in [true, false] {
                    let resting = async {
                        if is_receiving {
                            let pause = Duration::from_secs(25);
                            join(rests(&network, &client, pause), rests(&network, &server, pause)).await;
                        } else {
                            network.runtime().sleep(Duration::from_secs(25)).await;
                        }
                    };
                    let (refused, ()) = join(change(1), resting).await;
                    let error = refused.unwrap_err();
                    assert!(error.to_string().contains("in time"), "{error}");
                    talk(&client, &server).await;
                }
                let pause = Duration::from_secs(1);
                let resting = join(rests(&network, &client, pause), rests(&network, &server, pause));
                join(change(2), resting).await.0.unwrap();
                talk(&client, &server).await;
            });
        }
    }
}

/// The network is cut at any moment of a change, in one direction or in both, for longer than a change may take.
#[test]
fn an_answer_that_is_lost_ends_nothing() {
    let changed = seeds(150).map(|seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let mut settings = Settings::default();
            settings.idle_timeout = Duration::from_secs(60);
            let (client, server) = connect(&network, stack(), stack(), settings).await;
            let runtime = network.runtime();
            let change = async |end, to| match end {
                0 => client.upgrade(Pick::alternative(to)).await.is_ok(),
                _ => server.upgrade(Pick::alternative(to)).await.is_ok(),
            };
            let losing = async {
                runtime.sleep(Duration::from_micros(seed / 6 * 20)).await;
                match seed / 2 % 3 {
                    0 => network.cut_one_way(CLIENT, SERVER),
                    1 => network.cut_one_way(SERVER, CLIENT),
                    _ => network.cut(CLIENT, SERVER),
                }
                runtime.sleep(Duration::from_secs(25)).await;
                network.heal_all();
            };
            let pause = Duration::from_secs(35);
            let resting = join(rests(&network, &client, pause), rests(&network, &server, pause));
            let (is_changed, _) = join(change(seed % 2, 1), join(losing, resting)).await;
            assert_eq!(client.explain().picks(), server.explain().picks(), "seed {seed}");
            assert_eq!(client.explain().picks(), [u8::from(is_changed)], "seed {seed}");
            talk(&client, &server).await;
            let pause = Duration::from_secs(1);
            let resting = join(rests(&network, &client, pause), rests(&network, &server, pause));
            // The other end asks for the change, so no change may be under way there.
            let again = change(1 - seed % 2, usize::from(!is_changed));
            assert!(join(again, resting).await.0, "seed {seed}");
            talk(&client, &server).await;
            is_changed
        })
    });
    let changed: Vec<bool> = changed.collect();
    let is_representative = changed.len() >= 150;
    assert!(!is_representative || changed.contains(&true) && changed.contains(&false), "each comes about");
}
