//! Negotiated stacks: with 0-RTT, with changes while they are used, and with faults that `Reliable` repairs.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_chunnels::{Bincode, Fault, Ordered, Postcard, Reliable, Serialize};
use bertha_core::{Addr, Connection, Datapath, Runtime, make_stack, select};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Tcp};
use bertha_negotiation::{EarlyCache, Negotiate, Pick, Runs, Settings, ZeroRtt};
use std::time::Duration;

fn on() -> Addr {
    "10.77.0.2:0".parse().unwrap()
}

/// Connects ten times, each time with a request that is answered. From the second time on the request goes
/// with the first flight.
async fn early<D>(datapath: impl Fn() -> D)
where
    D: Datapath + Runs<Serialize<u64>, Out: Connection<Data = u64>>,
{
    let stack = Serialize::<u64>::new;
    let mut taking = Settings::default();
    taking.early_data = true;
    let mut incoming = stack().listen(datapath(), on()).settings(taking).await.unwrap();
    let (to, cache) = (incoming.local_addr(), EarlyCache::new());
    let mut settings = Settings::default();
    settings.first_flight_delay = Duration::from_secs(5);
    for round in 0..10 {
        let asking = async {
            let connection = stack().connect(datapath(), to.clone()).early(&cache).settings(settings.clone());
            let connection = connection.await.unwrap();
            connection.send(round).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), round + 1);
            let zero_rtt = connection.explain().zero_rtt().unwrap().clone();
            assert_eq!(zero_rtt == ZeroRtt::Taken(1), round > 0, "{zero_rtt}");
            connection.close().await.unwrap();
        };
        let serving = async {
            let served = incoming.next().await.unwrap();
            let request = served.recv().await.unwrap();
            served.send(request + 1).await.unwrap();
            assert!(served.recv().await.is_err(), "the client closes");
        };
        futures_util::join!(asking, serving);
    }
}

/// Returns `many`, or a tenth of it on an emulated machine, where each message takes a hundred times as long.
fn messages(many: u64) -> u64 {
    if std::env::var_os("BERTHA_TEST_EMULATED").is_some() { many / 10 } else { many }
}

/// Makes two thousand requests over a network that loses a tenth of all packets, and repeats and reorders
/// others.
async fn reliable() {
    let bad = || Fault::new(7).loss(0.1).duplication(0.05).reordering(0.05, Duration::from_millis(2));
    let mut incoming = make_stack!(Serialize::<(u64, String)>::new(), Reliable::new(), bad())
        .listen(Caladan::new(), on())
        .await
        .unwrap();
    let to = incoming.local_addr();
    let _server = CaladanRuntime.spawn(async move {
        let served = incoming.next().await.unwrap();
        while let Ok(message) = served.recv().await {
            if served.send(message).await.is_err() {
                break;
            }
        }
    });
    let stack = make_stack!(Serialize::<(u64, String)>::new(), Reliable::new(), bad());
    let connection = stack.connect(Caladan::new(), to).await.unwrap();
    for number in 0..messages(2000) {
        connection.send((number, "over Caladan".into())).await.unwrap();
        assert_eq!(connection.recv().await.unwrap().0, number);
    }
    connection.close().await.unwrap();
}

/// Changes the codec twenty times, while messages flow both ways. No message is lost, repeated or reordered.
async fn changing() {
    let count = messages(5000);
    let stack = || {
        let codec = select!(Serialize::<u64, Bincode>::new(), Serialize::<u64, Postcard>::new());
        make_stack!(codec, Ordered::new(), Reliable::new()).upgradable()
    };
    let mut incoming = stack().listen(Caladan::new(), on()).await.unwrap();
    let to = incoming.local_addr();
    let _server = CaladanRuntime.spawn(async move {
        let served = incoming.next().await.unwrap();
        while let Ok(message) = served.recv().await {
            if served.send(message).await.is_err() {
                break;
            }
        }
    });
    let connection = stack().connect(Caladan::new(), to).await.unwrap();
    let sending = async {
        for number in 0..count {
            connection.send(number).await.unwrap();
        }
    };
    // The client has to receive for as long as changes go on.
    let (changed, has_changed) = futures_util::future::AbortHandle::new_pair();
    let receiving = async {
        for number in 0..count {
            assert_eq!(connection.recv().await.unwrap(), number);
        }
        let _ = futures_util::future::Abortable::new(connection.recv(), has_changed).await;
    };
    let asking = async {
        for change in 1..=20 {
            connection.upgrade(Pick::alternative(change % 2)).await.unwrap();
        }
        changed.abort();
    };
    futures_util::join!(sending, receiving, asking);
    connection.close().await.unwrap();
}

#[test]
fn negotiated_early_and_reliable() {
    run_beside("stacks::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if is_beside() {
        run(&config(2), early(Caladan::new));
        run(&config(2), early(Tcp::new));
        run(&config(2), reliable());
        run(&config(2), changing());
    }
}
