//! First flights over the sockets of the system.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, Datapath};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{EarlyCache, Negotiate, Runs, Settings, ZeroRtt};
use std::time::Duration;

/// Connects `rounds` times, each time with a request that is answered.
async fn talk<D>(server: D, client: impl Fn() -> D, rounds: usize)
where
    D: Datapath + Runs<Serialize<u64>, Out: Connection<Data = u64>>,
{
    let stack = Serialize::<u64>::new;
    let mut incoming = stack().listen(server, "127.0.0.1:0".parse::<Addr>().unwrap()).await.unwrap();
    let (to, cache) = (incoming.local_addr(), EarlyCache::new());
    let serving = async {
        for _ in 0..rounds {
            let served = incoming.next().await.unwrap().unwrap();
            let request = served.recv().await.unwrap();
            served.send(request + 1).await.unwrap();
            assert!(served.recv().await.is_err(), "the client closes");
        }
    };
    let mut settings = Settings::default();
    // However busy the machine is, the offer waits for the request.
    settings.first_flight_delay = Duration::from_secs(5);
    let asking = async {
        for round in 0..rounds {
            let connection = stack().connect_early_with(client(), to.clone(), &cache, settings.clone());
            let connection = connection.await.unwrap();
            connection.send(round as u64).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), round as u64 + 1);
            let zero_rtt = connection.explain().unwrap().zero_rtt().unwrap().clone();
            assert_eq!(zero_rtt == ZeroRtt::Taken(1), round > 0, "{zero_rtt}");
            connection.close().await.unwrap();
        }
    };
    futures_util::join!(serving, asking);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_udp() {
    talk(Udp::default(), Udp::default, 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tcp() {
    talk(Tcp::default(), Tcp::default, 20).await;
}
