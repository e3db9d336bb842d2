//! Caladan beside tokio.

use crate::beside::{is_beside, run_beside};
use crate::running::config;
use bertha_chunnels::{Reliable, Serialize};
use bertha_conformance::{self as conformance, Site};
use bertha_core::{Addr, Connection, make_stack};
use bertha_datapath_caladan::{Bridged, Caladan};
use bertha_negotiation::Negotiate;
use std::time::Instant;

fn on() -> Addr {
    "10.77.0.2:0".parse().unwrap()
}

#[test]
fn programs_on_tokio() {
    run_beside("bridged::inside", "simple", &[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by another test, as a process of its own"]
async fn inside() {
    if !is_beside() {
        return;
    }
    let udp = Bridged::over(Caladan::new(), &config(2));
    let site = Site { server: &udp, client: &udp, on: &on };
    conformance::datapath(&site).await;
    let stack = || make_stack!(Serialize::<u64>::new(), Reliable::new());
    let mut incoming = stack().listen(udp.clone(), on()).await.unwrap();
    let to = incoming.local_addr();
    tokio::spawn(async move {
        let served = incoming.next().await.unwrap();
        while let Ok(number) = served.recv().await {
            if served.send(number + 1).await.is_err() {
                break;
            }
        }
    });
    let connection = stack().connect(udp, to).await.unwrap();
    let begin = Instant::now();
    for number in 0..1000 {
        connection.send(number).await.unwrap();
        assert_eq!(connection.recv().await.unwrap(), number + 1);
    }
    println!("1000 requests in {:?}", begin.elapsed());
    connection.close().await.unwrap();
}
