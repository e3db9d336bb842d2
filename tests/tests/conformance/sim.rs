//! The conformance suites over the simulator: every transport, both families, many seeds.

use bertha_conformance::{self as conformance, Bufs, Site};
use bertha_core::{Addr, Connection};
use bertha_datapath_sim::{Datagram, Network, Schedule, Sim, SimDatapath, pair};
use std::net::IpAddr;

const SEEDS: std::ops::Range<u64> = 0..20;

/// Returns the addresses of server and client, for each family.
fn hosts() -> [[IpAddr; 2]; 2] {
    [["10.0.0.2", "10.0.0.1"], ["fd00::2", "fd00::1"]].map(|ips| ips.map(|ip| ip.parse().unwrap()))
}

/// Runs `check` with every seed, family and order of tasks, between hosts as `with` makes them.
fn everywhere(
    with: impl Fn(SimDatapath) -> SimDatapath,
    check: impl AsyncFn(&Network, &Site<'_, SimDatapath, SimDatapath>),
) {
    for seed in SEEDS {
        for [server, client] in hosts() {
            for schedule in [Schedule::Random, Schedule::Fifo] {
                let mut sim = Sim::new(seed).schedule(schedule);
                let network = sim.network().clone();
                let (on, server) = (Addr::Ip((server, 0).into()), with(network.host(server)));
                let client = with(network.host(client));
                let site = Site { server: &server, client: &client, on: &|| on.clone() };
                sim.run(check(&network, &site));
            }
        }
    }
}

#[test]
fn datagrams() {
    everywhere(
        |host| host,
        async |network, site| {
            conformance::datapath(site).await;
            conformance::a_dropped_connection_forgets_its_address(site).await;
            conformance::nobody_there_is_unreachable(site).await;
            conformance::a_listener_survives(site, async |to| attack(network, to)).await;
        },
    );
}

/// Sends datagrams of all lengths, from many addresses.
fn attack(network: &Network, to: &Addr) {
    let to = to.ip("test").unwrap();
    for (port, len) in (1..).zip([0, 1, 7, 8, 9, 100, 1500, 65_507, 65_508, 1_000_000]) {
        let payload = (0..len).map(|at| (at * port) as u8).collect();
        let from = (to.ip(), port as u16).into();
        network.inject(&Datagram { from, to, payload }).unwrap();
    }
}

#[test]
fn streams() {
    everywhere(SimDatapath::streams, async |_, site| {
        conformance::datapath(site).await;
        conformance::nobody_there_is_unreachable(site).await;
        let (client, server) = site.connected().await;
        conformance::the_peer_hears_of_a_close(&client, &server, &Bufs).await;
        let (client, server) = site.connected().await;
        conformance::the_peer_hears_of_a_close(&server, &client, &Bufs).await;
    });
}

#[test]
fn pairs() {
    for seed in SEEDS {
        let mut sim = Sim::new(seed);
        let runtime = sim.runtime();
        sim.run(async {
            let connect = async || pair(runtime.clone());
            conformance::connection(connect, &Bufs).await;
            conformance::base_connection(connect).await;
            let (here, there) = connect().await;
            conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        });
    }
}

#[test]
fn pairs_behind_an_erased_type() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    let boxed = |connection| {
        fn erase<C: Connection>(connection: C) -> bertha_core::BoxConnection<C::Data, C::Base> {
            bertha_core::BoxConnection::new(connection)
        }
        erase(connection)
    };
    let connect = async || {
        let (here, there) = pair(runtime.clone());
        (boxed(here), boxed(there))
    };
    sim.run(conformance::connection(connect, &Bufs));
}
