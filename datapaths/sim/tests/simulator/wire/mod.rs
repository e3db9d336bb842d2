//! Two hosts and their messages to each other.
#![allow(dead_code, reason = "each test program uses a part")]

use bertha_core::{Addr, Buf, Connection, Datapath, Error, Listener};
use bertha_datapath_sim::{Network, Sim, SimConnection, SimDatapath, SimListener};
use futures_util::FutureExt;
use std::net::IpAddr;

pub(crate) const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

pub(crate) fn at(ip: IpAddr, port: u16) -> Addr {
    Addr::Ip((ip, port).into())
}

pub(crate) fn server() -> Addr {
    at(SERVER, 4242)
}

pub(crate) fn message(number: u64) -> Buf {
    Buf::copy_of(&number.to_be_bytes(), 0).unwrap()
}

pub(crate) fn number(message: &Buf) -> u64 {
    u64::from_be_bytes(message[..].try_into().unwrap())
}

pub(crate) async fn send(connection: &SimConnection, numbers: std::ops::Range<u64>) -> Result<(), Error> {
    connection.send_batch(numbers.map(message)).await
}

/// Returns the messages that have arrived and were not received yet.
pub(crate) fn arrived(connection: &SimConnection) -> Vec<u64> {
    let mut messages = Vec::<Buf>::new();
    match connection.recv_batch(&mut messages, usize::MAX).now_or_never() {
        Some(result) => assert_eq!(result.unwrap(), messages.len()),
        None => assert!(messages.is_empty()),
    }
    messages.iter().map(number).collect()
}

pub(crate) async fn listen(network: &Network) -> SimListener {
    network.host(SERVER).listen(server()).await.unwrap()
}

/// Returns a client and the server's end, connected through the datapath that `with` makes of a host.
pub(crate) async fn connected(
    network: &Network,
    with: impl Fn(SimDatapath) -> SimDatapath,
) -> (SimConnection, SimConnection, SimListener) {
    let listener = with(network.host(SERVER)).listen(server()).await.unwrap();
    let client = with(network.host(CLIENT)).connect(server()).await.unwrap();
    client.send(message(0)).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    assert_eq!(number(&accepted.recv().await.unwrap()), 0);
    (client, accepted, listener)
}

/// Runs `test` in a simulation with this seed.
pub(crate) fn run<F: Future<Output = ()>>(seed: u64, test: impl FnOnce(Network) -> F) -> u64 {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    sim.run(test(network));
    sim.trace()
}
