//! The conformance suites over kernel sockets.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_core::Addr;
use bertha_datapath_kernel::{Udp, Waiting};
use bertha_tests::conformance::{self, Site};
use std::net::UdpSocket;
use std::time::Duration;

const LOOPBACK: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

async fn udp(udp: Udp, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server: &udp, client: &udp, on: &|| on.clone() };
    conformance::datapath(&site).await;
    conformance::a_dropped_connection_forgets_its_address(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    conformance::a_listener_survives(&site, async |to| attack(to)).await;
}

/// Datagrams of all lengths, from an address for each.
fn attack(to: &Addr) {
    let to = to.ip("test").unwrap();
    for len in [0, 1, 7, 8, 9, 100, 1500, 9000, 65_507] {
        let socket = UdpSocket::bind((to.ip(), 0)).unwrap();
        let payload: Vec<u8> = (0..len).map(|at| (at * 31) as u8).collect();
        socket.send_to(&payload, to).unwrap();
        // What answers to that finds the port closed.
    }
}

#[tokio::test]
async fn udp_on_one_thread() {
    for on in LOOPBACK {
        udp(Udp::new(), on).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn udp_on_several_threads() {
    for on in LOOPBACK {
        udp(Udp::new(), on).await;
    }
}

#[tokio::test]
async fn udp_with_every_way_of_waiting() {
    for waiting in [Waiting::Spin, Waiting::Adaptive { spin_for: Duration::from_micros(50) }] {
        udp(Udp::new().waiting(waiting), LOOPBACK[0]).await;
    }
}
