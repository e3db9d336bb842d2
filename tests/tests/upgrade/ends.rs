//! Ends of connections whose stack can change, and may be changing: a clean end differs from a cut end.

use crate::scene::{A, B, CLIENT, SERVER, bytes, simulate};
use crate::traffic::{Dice, connect};
use bertha_chunnels::{Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, forward, make_stack,
    select,
};
use bertha_datapath_sim::{Link, Network};
use bertha_negotiation::{Negotiate, Pick, Settings};
use bertha_tests::with_seeds;
use futures_util::future::{join, join3, select as first_of};
use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

/// Makes a stack that loses nothing and keeps the order.
macro_rules! stack {
    () => {
        make_stack!(select!(A, B), Ordered::new(), Reliable::new()).upgradable()
    };
}

/// Returns both ends of a connection whose stack was changed this number of times.
async fn connected(
    network: &Network,
    changes: usize,
) -> (impl Connection<Data = Buf> + use<>, impl Connection<Data = Buf> + use<>) {
    // Shorter than the checks wait: the only message of a dropped end may be lost.
    let settings = Settings::default().idle_timeout(Duration::from_secs(10));
    let (client, server) = connect(network, stack!(), stack!(), settings).await;
    for change in 1..=changes {
        let changing = async {
            client.upgrade(Pick::alternative(change % 2)).await.unwrap();
            client.send(bytes(b"changed")).await.unwrap();
        };
        let (message, ()) = join(server.recv(), changing).await;
        assert_eq!(*message.unwrap(), *b"changed");
    }
    (client, server)
}

#[test]
fn a_clean_end_differs_from_a_cut_end() {
    for seed in 0..5 {
        simulate(seed, async |network: Network| {
            for changes in 0..3 {
                conformance::ends(async || connected(&network, changes).await, &Bufs).await;
            }
            network.set_link(Link::poor(0.05));
            conformance::ends(async || connected(&network, 1).await, &Bufs).await;
        });
    }
}

fn number(message: &Buf) -> u32 {
    u32::from_le_bytes(message[..].try_into().unwrap())
}

/// The transport holds messages of both stacks when the close arrives.
#[test]
fn a_close_comes_behind_messages_of_the_next_stack() {
    with_seeds(50, |seed| {
        simulate(seed, async |network: Network| {
            let (client, server) = connect(&network, stack!(), stack!(), Settings::default()).await;
            network.set_link(Link::poor((seed % 3) as f64 * 0.02));
            let sending = async {
                for before in 0..50_u32 {
                    client.send(bytes(&before.to_le_bytes())).await.unwrap();
                }
                client.upgrade(Pick::alternative(1)).await.unwrap();
                for after in 50..100_u32 {
                    client.send(bytes(&after.to_le_bytes())).await.unwrap();
                }
                client.close().await.unwrap();
            };
            let receiving = async {
                network.runtime().sleep(Duration::from_secs(1)).await;
                for expected in 0..100 {
                    assert_eq!(number(&server.recv().await.unwrap()), expected, "seed {seed}");
                }
                server.recv().await.unwrap_err().kind()
            };
            let ((), end) = join(sending, receiving).await;
            assert_eq!(end, ErrorKind::Closed, "seed {seed}");
        });
    });
}

/// The messages fill the transport's window, and their receiver takes none for longer than a change may
/// take.
#[test]
fn messages_that_a_slow_receiver_has_yet_to_take_outlive_a_change() {
    const COUNT: u32 = 5_000;
    simulate(1, async |network: Network| {
        let (client, server) = connect(&network, stack!(), stack!(), Settings::default()).await;
        let sending = async {
            for next in 0..COUNT {
                let message = [&next.to_le_bytes()[..], &[0; 1_000]].concat();
                client.send(bytes(&message)).await.unwrap();
            }
            client.close().await.unwrap();
        };
        let receiving = async {
            network.runtime().sleep(Duration::from_secs(25)).await;
            for expected in 0..COUNT {
                let message = server.recv().await.unwrap();
                assert_eq!(u32::from_le_bytes(message[..4].try_into().unwrap()), expected);
            }
            server.recv().await.unwrap_err().kind()
        };
        let changing = async {
            network.runtime().sleep(Duration::from_secs(1)).await;
            server.upgrade(Pick::alternative(1)).await.unwrap();
        };
        let ((), end, ()) = join3(sending, receiving, changing).await;
        assert_eq!(end, ErrorKind::Closed);
    });
}

/// The way in which a sender ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closes,
    Drops,
    Dies,
}

/// A sender ends at any moment of a change, which either end has requested.
#[test]
fn a_sender_that_ends_during_a_change_is_closed_only_if_all_has_arrived() {
    const COUNT: u32 = 400;
    with_seeds(300, |seed| {
        simulate(seed, async |network: Network| {
            let mut dice = Dice::new(seed);
            let settings = Settings::default().idle_timeout(Duration::from_secs(2));
            let (client, server) = connect(&network, stack!(), stack!(), settings).await;
            let runtime = network.runtime();
            network.set_link(Link::poor(dice.roll(3) as f64 * 0.02));
            let end = [End::Closes, End::Drops, End::Dies][seed as usize % 3];
            let [changes_after, ends_after] = [3_000, 8_000].map(|most| dice.roll(most));
            let is_requested_here = dice.roll(2) == 0;
            let is_slow = dice.roll(2) == 0;
            let sent = Cell::new(0);
            let sending = async {
                let working = async {
                    let talking = async {
                        for next in 0..COUNT {
                            client.send(bytes(&next.to_le_bytes())).await.unwrap();
                            sent.set(next + 1);
                        }
                    };
                    let changing = async {
                        runtime.sleep(Duration::from_micros(changes_after)).await;
                        if is_requested_here {
                            client.upgrade(Pick::alternative(1)).await.unwrap();
                        }
                    };
                    join(talking, changing).await;
                };
                if end == End::Closes {
                    working.await;
                    client.close().await.unwrap();
                    return None;
                }
                let moment = runtime.sleep(Duration::from_micros(ends_after));
                first_of(pin!(working), pin!(moment)).await;
                if end == End::Dies {
                    network.cut(CLIENT, SERVER);
                    return Some(client);
                }
                drop(client);
                None
            };
            let receiving = async {
                let mut count = 0;
                loop {
                    if is_slow && dice.roll(10) == 0 {
                        runtime.sleep(Duration::from_micros(dice.roll(5_000))).await;
                    }
                    match server.recv().await {
                        Ok(message) => assert_eq!(number(&message), count, "seed {seed}"),
                        Err(error) if error.ends_connection() => return (count, error),
                        Err(_) => continue,
                    }
                    count += 1;
                }
            };
            let requesting = async {
                runtime.sleep(Duration::from_micros(changes_after)).await;
                if !is_requested_here {
                    // It fails if the connection has ended before.
                    let _ = server.upgrade(Pick::alternative(1)).await;
                }
            };
            let (_client, (count, error), ()) = join3(sending, receiving, requesting).await;
            match error.kind() {
                ErrorKind::Closed => assert_eq!(count, sent.get(), "seed {seed}, {end:?}: {error}"),
                ErrorKind::Reset | ErrorKind::TimedOut => {
                    assert_ne!(end, End::Closes, "seed {seed}, after {count}: {error}");
                }
                _ => panic!("seed {seed}, {end:?}: {error}"),
            }
        });
    });
}

/// A layer whose messages may be lost when it is drained.
#[derive(Debug, Clone, Copy, Identity)]
struct Layer {
    loses: bool,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Layer {
    type Connection = LayerConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(LayerConnection { inner, loses: self.loses })
    }
}

struct LayerConnection<Inner> {
    inner: Inner,
    loses: bool,
}

impl<Inner: Carries<Buf, Layer>> Connection for LayerConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch, close);

    async fn drain(&self) -> Result<(), Error> {
        if self.loses {
            return Err(Error::new(ErrorKind::TimedOut, "the counterpart takes nothing").at("Layer"));
        }
        self.inner.drain().await
    }
}

/// The end that the change binds can't deliver the messages of its old stack, and no close may hide that.
#[test]
fn messages_that_a_stack_loses_before_a_change_cut_the_connection() {
    simulate(1, async |network: Network| {
        let stack =
            |loses| make_stack!(select!(Layer { loses }, B), Ordered::new(), Reliable::new()).upgradable();
        let (client, server) = connect(&network, stack(true), stack(false), Settings::default()).await;
        let changing = async {
            // The server is not bound before it begins, and the client loses messages only after that.
            let _ = server.upgrade(Pick::alternative(1)).await;
            network.runtime().sleep(Duration::from_millis(10)).await;
            let _ = client.close().await;
        };
        let (at_client, at_server, ()) = join3(client.recv(), server.recv(), changing).await;
        assert_eq!(at_client.unwrap_err().kind(), ErrorKind::Reset);
        assert_eq!(at_server.unwrap_err().kind(), ErrorKind::Reset);
    });
}
