//! `Reliable` over streams, whose `send` waits while the peer takes no bytes.

use crate::reliable::faults::{message, number};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::FixedWindow;
use bertha_core::{Addr, Buf, Connection, Datapath, ErrorKind, Listener, Wrap};
use bertha_datapath_sim::{Limits, Link, Network, Sim};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Returns both ends of a stream that holds a few packets each way.
async fn ends(network: &Network) -> [impl Connection<Data = Buf> + use<>; 2] {
    network.set_limits(Limits { queue: 2, ..Limits::default() });
    let listener = network.host(SERVER).streams().listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let client = network.host(CLIENT).streams().connect(listener.local_addr()).await.unwrap();
    [client, listener.accept().await.unwrap()]
}

#[test]
fn a_peer_that_takes_nothing_is_a_timeout() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let [here, _there] = ends(&network).await;
        let stack = Reliable::new().idle_timeout(Duration::from_secs(5));
        let here = stack.wrap(here).await.unwrap();
        for number in 0..20 {
            here.send(message(number, 1_300)).await.unwrap();
        }
        assert_eq!(here.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(here.close().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(network.runtime().elapsed() <= Duration::from_secs(6));
    });
}

const COUNT: u64 = 2_000;

async fn flood(end: &impl Connection<Data = Buf>) {
    for number in 0..COUNT {
        end.send(message(number, 1_300)).await.unwrap();
    }
}

async fn drink(end: &impl Connection<Data = Buf>) {
    for expected in 0..COUNT {
        assert_eq!(number(&end.recv().await.unwrap()), expected);
    }
}

#[test]
fn two_ends_that_both_send_far_more_than_fits_finish_without_repeating() {
    for delay in [50, 500, 2_000] {
        let mut sim = Sim::new(1);
        let network = sim.network().clone();
        network.set_link(Link { delay: Duration::from_millis(delay), ..Link::default() });
        sim.run(async {
            let [here, there] = ends(&network).await;
            let stack = Reliable::new().with(FixedWindow(1 << 20));
            let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
            futures_util::join!(flood(&here), flood(&there), drink(&here), drink(&there));
            let (here, there) = (here.statistics(), there.statistics());
            assert_eq!((here.duplicates, there.duplicates), (0, 0), "delay of {delay} ms");
        });
    }
}
