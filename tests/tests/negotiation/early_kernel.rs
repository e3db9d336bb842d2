//! First flights over the sockets of the system.

use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, Datapath};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::{EarlyCache, Negotiate, Runs, Settings, ZeroRtt};
use std::time::Duration;
use tokio::runtime::Builder;

/// Connects `rounds` times, each time with a request that is answered.
async fn talk<D>(server: D, client: impl Fn() -> D, rounds: usize)
where
    D: Datapath + Runs<Serialize<u64>, Out: Connection<Data = u64>>,
{
    let stack = Serialize::<u64>::new;
    let mut taking = Settings::default();
    taking.early_data = true;
    let on = "127.0.0.1:0".parse::<Addr>().unwrap();
    let mut incoming = stack().listen(server, on).settings(taking).await.unwrap();
    let (to, cache) = (incoming.local_addr(), EarlyCache::new());
    let serving = async {
        for _ in 0..rounds {
            let served = incoming.next().await.unwrap();
            let request = served.recv().await.unwrap();
            served.send(request + 1).await.unwrap();
            assert!(served.recv().await.is_err(), "the client closes");
        }
    };
    let mut settings = Settings::default();
    // The offer waits for the request, however busy the machine is.
    settings.first_flight_delay = Duration::from_secs(5);
    let asking = async {
        for round in 0..rounds {
            let connection = stack().connect(client(), to.clone()).early(&cache).settings(settings.clone());
            let connection = connection.await.unwrap();
            connection.send(round as u64).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), round as u64 + 1);
            let zero_rtt = connection.explain().zero_rtt().unwrap().clone();
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

/// The task that answers for a listener began on another runtime, and ended with it.
#[test]
fn a_listener_whose_runtime_is_gone_answers_on_the_next() {
    let stays = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stack = Serialize::<u64>::new;
    let on = "127.0.0.1:0".parse::<Addr>().unwrap();
    let mut taking = Settings::default();
    taking.early_data = true;
    let listening = stack().listen(Udp::default(), on).settings(taking);
    let mut incoming = stays.block_on(listening.into_future()).unwrap();
    let (to, cache) = (incoming.local_addr(), EarlyCache::new());
    let mut settings = Settings::default();
    settings.first_flight_delay = Duration::from_secs(5);
    settings.handshake_timeout = Duration::from_secs(20);
    let mut ask = async |is_early: bool| {
        let (to, cache, settings) = (to.clone(), cache.clone(), settings.clone());
        let asking = stays.spawn(async move {
            let connection =
                stack().connect(Udp::default(), to).early(&cache).settings(settings).await.unwrap();
            connection.send(1).await.unwrap();
            connection.agreed().await.map(|agreement| agreement.zero_rtt().cloned())
        });
        // The server neither receives nor sends.
        let _served = incoming.next().await.unwrap();
        let zero_rtt = asking.await.unwrap().unwrap().unwrap();
        assert_eq!(zero_rtt == ZeroRtt::Taken(1), is_early, "{zero_rtt}");
    };
    stays.block_on(ask(false));
    let passes = Builder::new_current_thread().enable_all().build().unwrap();
    passes.block_on(ask(true));
    drop(passes);
    stays.block_on(ask(true));
}
