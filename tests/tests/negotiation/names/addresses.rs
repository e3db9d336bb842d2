//! Several addresses of one name, in virtual time.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Addr, BoxFuture, Connection, Error, ErrorKind, Name, Resolver, Runtime, make_stack};
use bertha_datapath_sim::{Link, Network, Sim, SimDatapath};
use bertha_negotiation::names::Static;
use bertha_negotiation::{EarlyCache, Negotiate};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];

fn simulate<T, F: Future<Output = T>>(main: impl FnOnce(Network) -> F) -> T {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(main(network))
}

fn addr(last: u8) -> Addr {
    ([10, 0, 0, last], 4242).into()
}

fn store(addresses: impl IntoIterator<Item = u8>) -> Static {
    Static::new().with("store".parse().unwrap(), addresses.into_iter().map(addr))
}

/// Starts a server that answers with its number.
async fn serve(network: &Network, last: u8) {
    serve_at(network.host([10, 0, 0, last]), last).await;
}

async fn serve_at(host: SimDatapath, last: u8) {
    let runtime = host.network().runtime().clone();
    let mut incoming = make_stack!(Serialize::<u8>::new()).listen(host, addr(last)).await.unwrap();
    std::mem::forget(runtime.spawn(async move {
        let mut connections = Vec::new();
        while let Some(connection) = incoming.next().await {
            connection.send(last).await.unwrap();
            connections.push(connection);
        }
    }));
}

#[test]
fn an_address_that_is_silent_costs_a_quarter_of_a_second_and_the_others_nothing() {
    simulate(async |network: Network| {
        serve(&network, 3).await;
        serve(&network, 4).await;
        network.cut(CLIENT, [10, 0, 0, 2]);
        let stack = make_stack!(Serialize::<u8>::new());
        let before = network.runtime().now();
        let connecting = stack.connect(network.host(CLIENT), "store").resolver(store([2, 3, 4]));
        let connection = connecting.await.unwrap();
        let took = network.runtime().now() - before;
        assert!((250..260).contains(&took.as_millis()), "{took:?}");
        assert_eq!(connection.recv().await.unwrap(), 3);
    });
}

#[test]
fn a_slow_server_wins_over_silent_ones_behind_it() {
    simulate(async |network: Network| {
        serve(&network, 2).await;
        let slow = Link { delay: Duration::from_millis(300), ..Link::default() };
        network.set_link_between(CLIENT, [10, 0, 0, 2], slow);
        network.cut(CLIENT, [10, 0, 0, 3]);
        let stack = make_stack!(Serialize::<u8>::new());
        let connection = stack.connect(network.host(CLIENT), "store").resolver(store([2, 3])).await.unwrap();
        assert_eq!(connection.recv().await.unwrap(), 2);
    });
}

#[test]
fn a_closed_port_lets_the_next_address_begin_at_once() {
    simulate(async |network: Network| {
        serve_at(network.host([10, 0, 0, 3]).streams(), 3).await;
        let stack = make_stack!(Serialize::<u8>::new());
        let before = network.runtime().now();
        let connecting = stack.connect(network.host(CLIENT).streams(), "store").resolver(store([2, 3]));
        let connection = connecting.await.unwrap();
        let took = network.runtime().now() - before;
        assert!(took < Duration::from_millis(10), "{took:?}");
        assert_eq!(connection.recv().await.unwrap(), 3);
    });
}

#[test]
fn the_error_tells_each_address_and_the_reason_of_the_server_that_answered() {
    simulate(async |network: Network| {
        serve(&network, 3).await;
        network.cut(CLIENT, [10, 0, 0, 2]);
        let other = make_stack!(Serialize::<String>::new());
        let error = other.connect(network.host(CLIENT), "store").resolver(store([2, 3])).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`store`") && text.contains("10.0.0.3:4242: "), "{text}");
        assert_eq!(error.kind(), ErrorKind::Refused, "{text}");
    });
}

#[test]
fn a_client_with_an_early_cache_connects_to_a_name() {
    simulate(async |network: Network| {
        serve(&network, 3).await;
        let (stack, cache) = (make_stack!(Serialize::<u8>::new()), EarlyCache::default());
        let connecting = stack.connect(network.host(CLIENT), "store").resolver(store([3]));
        let connection = connecting.early(&cache).await.unwrap();
        assert_eq!(connection.recv().await.unwrap(), 3);
    });
}

/// Never answers.
struct Silent;

impl Resolver for Silent {
    fn resolve<'a>(&'a self, _: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_name_that_nobody_can_resolve_is_an_error_that_says_why() {
    simulate(async |network: Network| {
        let stack = make_stack!(Nothing);
        let host = || network.host(CLIENT);
        let silent = stack.connect(host(), "store").resolver(Silent).await.unwrap_err();
        assert_eq!(silent.kind(), ErrorKind::TimedOut);
        assert!(silent.to_string().contains("`store` was not resolved in time"), "{silent}");
        let unknown = stack.connect(host(), "shop").resolver(store([2])).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::Unreachable);
        let none = stack.connect(host(), "store").resolver(store([])).await.unwrap_err();
        assert!(none.to_string().contains("it has none"), "{none}");
        let nobody = stack.connect(host(), "store:1").await.unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::Unavailable);
        assert!(nobody.to_string().contains("name a resolver to reach `store:1`"), "{nobody}");
        let malformed = stack.connect(host(), "http://store").await.unwrap_err();
        assert_eq!(malformed.kind(), ErrorKind::Invalid);
        assert!(malformed.to_string().contains("example.org:80"), "{malformed}");
    });
}
