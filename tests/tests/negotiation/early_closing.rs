//! Chunnels that fail, or close their link, after the first flight has left and before the server has answered.

use crate::early_scene::{hear, heard, open, over, record, say, with};
use crate::scene::{B, CLIENT, SERVER, bytes, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
    make_stack, select,
};
use bertha_datapath_sim::Network;
use bertha_negotiation::{EarlyCache, Negotiate, Settings, ZeroRtt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The deed of a Chunnel that has talked for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Fails,
    Closes,
    ClosesAndFails,
}

use Deed::{Closes, ClosesAndFails, Fails};

/// On a client, talks while it starts, and then gives up.
#[derive(Debug, Clone, Identity)]
struct GivesUp {
    /// True once the Chunnel gives up.
    now: Arc<AtomicBool>,
    deed: Deed,
    /// Time for which a second message waited until its sending failed, in microseconds.
    waited: Arc<AtomicU64>,
}

impl GivesUp {
    fn new(deed: Deed) -> Self {
        Self { now: Arc::default(), deed, waited: Arc::default() }
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for GivesUp {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == Role::Server || !self.now.load(Ordering::Relaxed) {
            return Ok(inner);
        }
        let runtime = inner.base().runtime();
        let before = runtime.now();
        inner.send(bytes(b"hello")).await?;
        let sleep = runtime.sleep_until(before + Duration::from_micros(50));
        if self.deed == Fails {
            sleep.await;
        } else {
            let closes = async {
                sleep.await;
                inner.close().await
            };
            let (closed, sent) = futures_util::join!(closes, inner.send(bytes(b"more")));
            self.waited.store((runtime.now() - before).as_micros() as u64, Ordering::Relaxed);
            assert_eq!(sent.unwrap_err().kind(), ErrorKind::Closed);
            closed?;
        }
        if self.deed == Closes {
            return Ok(inner);
        }
        Err(Error::new(ErrorKind::Unavailable, "it gave up").at("GivesUp"))
    }
}

fn one_message() -> Settings {
    with(|settings| settings.first_flight = 1)
}

/// Makes a cache of a client whose server agreed to the stack the last time.
async fn learn_of(network: &Network, gives_up: &GivesUp) -> EarlyCache {
    let cache = EarlyCache::new();
    let stack = || over!(select!(gives_up.clone(), B));
    let incoming = stack().listen(server(network), server_addr()).settings(open()).await.unwrap();
    record(network, incoming);
    let first = stack().connect(client(network), server_addr()).early(&cache).await.unwrap();
    first.close().await.unwrap();
    network.restart(SERVER);
    gives_up.now.store(true, Ordering::Relaxed);
    cache
}

#[test]
fn the_stack_that_the_server_picks_is_none_the_worse() {
    for deed in [Fails, ClosesAndFails] {
        simulate(1, async |network: Network| {
            let gives_up = GivesUp::new(deed);
            let cache = learn_of(&network, &gives_up).await;
            let history = record(
                &network,
                over!(B).listen(server(&network), server_addr()).settings(open()).await.unwrap(),
            );
            let stack = over!(select!(gives_up, B));
            let connecting =
                stack.connect(client(&network), server_addr()).early(&cache).settings(one_message());
            let connection = connecting.await.unwrap();
            assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Resent(0)), "{deed:?}");
            say(&connection, &["one", "two"]).await;
            hear(&connection, &["one", "two"]).await;
            assert_eq!(heard(&history), [["one", "two"]], "{deed:?}");
        });
    }
}

#[test]
fn the_server_hears_of_it_if_it_agreed() {
    for deed in [Fails, ClosesAndFails] {
        simulate(2, async |network: Network| {
            let gives_up = GivesUp::new(deed);
            let cache = learn_of(&network, &gives_up).await;
            let stack = || over!(select!(gives_up.clone(), B));
            let mut incoming =
                stack().listen(server(&network), server_addr()).settings(open()).await.unwrap();
            let connecting =
                stack().connect(client(&network), server_addr()).early(&cache).settings(one_message());
            let serving = async {
                let served = incoming.next().await.unwrap();
                loop {
                    if let Err(error) = served.recv().await {
                        break error;
                    }
                }
            };
            let (connected, at_server) = futures_util::join!(connecting.into_future(), serving);
            assert_eq!(connected.err().unwrap().kind(), ErrorKind::Unavailable);
            assert!(at_server.to_string().contains("GivesUp: unavailable: it gave up"), "{at_server}");
        });
    }
}

#[test]
fn the_server_hears_of_a_link_that_was_closed_before_it_agreed() {
    simulate(4, async |network: Network| {
        let gives_up = GivesUp::new(Closes);
        let cache = learn_of(&network, &gives_up).await;
        let stack = || over!(select!(gives_up.clone(), B));
        let mut incoming = stack().listen(server(&network), server_addr()).settings(open()).await.unwrap();
        let connecting =
            stack().connect(client(&network), server_addr()).early(&cache).settings(one_message());
        let serving = async {
            let served = incoming.next().await.unwrap();
            while served.recv().await.is_ok() {}
            network.runtime().now()
        };
        let before = network.runtime().now();
        let (connected, heard_at) = futures_util::join!(connecting.into_future(), serving);
        assert_eq!(connected.unwrap().recv().await.unwrap_err().kind(), ErrorKind::Closed);
        assert!(heard_at - before < Duration::from_millis(10));
    });
}

#[test]
fn who_waits_for_the_link_hears_at_once_that_it_is_closed() {
    simulate(3, async |network: Network| {
        let gives_up = GivesUp::new(ClosesAndFails);
        let cache = learn_of(&network, &gives_up).await;
        network.cut(CLIENT, SERVER);
        let stack = over!(select!(gives_up.clone(), B));
        let connecting = stack.connect(client(&network), server_addr()).early(&cache).settings(one_message());
        assert_eq!(connecting.await.err().unwrap().kind(), ErrorKind::TimedOut);
        assert_eq!(gives_up.waited.load(Ordering::Relaxed), 50);
    });
}
