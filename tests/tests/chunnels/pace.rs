//! `Pace` over a simulated network: the rate, the burst, and backpressure.

use bertha_chunnels::Pace;
use bertha_core::{Addr, Buf, Connection, Datapath, Wrap};
use bertha_datapath_sim::{Network, Sim, Verdict};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The messages that reached the wire, with the time and the length of each.
type Sent = Arc<Mutex<Vec<(Duration, usize)>>>;

fn simulate(test: impl AsyncFn(&Network, Sent)) {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    let sent = Sent::default();
    let (log, runtime) = (sent.clone(), network.runtime().clone());
    network.tap(move |datagram| {
        log.lock().unwrap().push((runtime.elapsed(), datagram.payload.len()));
        Verdict::Pass
    });
    sim.run(test(&network, sent));
}

async fn paced(network: &Network, pace: Pace) -> impl Connection<Data = Buf> + use<> {
    let to = Addr::Ip(([10, 0, 0, 2], 7).into());
    // The host is there, and reads no message.
    std::mem::forget(network.host([10, 0, 0, 2]).listen(to.clone()).await.unwrap());
    pace.wrap(network.host([10, 0, 0, 1]).connect(to).await.unwrap()).await.unwrap()
}

fn message(len: usize) -> Buf {
    Buf::new(len, 64).unwrap()
}

/// Checks that in any period at most the rate, the burst and one message are sent.
fn check(sent: &Sent, rate: u64, burst: u64) {
    let sent = sent.lock().unwrap();
    for (at, (from, _)) in sent.iter().enumerate() {
        let mut bytes = 0.0;
        for (to, len) in &sent[at..] {
            bytes += *len as f64;
            let most = rate as f64 * (*to - *from).as_secs_f64() + burst as f64 + 1_000.0;
            assert!(bytes <= most + 1.0, "{bytes} bytes in {:?}, at most {most}", *to - *from);
        }
    }
}

#[test]
fn the_rate_and_the_burst_are_kept() {
    for is_batch in [false, true] {
        simulate(async |network, sent| {
            let connection = paced(network, Pace::new(100_000).burst(5_000)).await;
            if is_batch {
                connection.send_batch((0..200).map(|_| message(1_000))).await.unwrap();
            } else {
                for _ in 0..200 {
                    connection.send(message(1_000)).await.unwrap();
                }
            }
            // The burst goes at once, and the rest at the rate.
            let took = network.runtime().elapsed();
            assert!((1_900..2_000).contains(&took.as_millis()), "{took:?}");
            check(&sent, 100_000, 5_000);
            assert_eq!(sent.lock().unwrap().len(), 200);
            network.runtime().sleep(Duration::from_secs(10)).await;
            connection.send_batch((0..20).map(|_| message(1_000))).await.unwrap();
            check(&sent, 100_000, 5_000);
        });
    }
}

#[test]
fn senders_go_in_turn_and_who_gives_up_costs_nothing() {
    simulate(async |network, sent| {
        let connection = paced(network, Pace::new(10_000).burst(1)).await;
        connection.send(message(1_000)).await.unwrap();
        {
            let mut given_up = std::pin::pin!(connection.send(message(900)));
            assert!(futures_util::poll!(&mut given_up).is_pending());
            network.runtime().sleep(Duration::from_millis(50)).await;
        }
        let sends = (1..=3).map(|number| connection.send(message(number)));
        futures_util::future::try_join_all(sends).await.unwrap();
        let lens: Vec<usize> = sent.lock().unwrap().iter().map(|(_, len)| *len).collect();
        assert_eq!(lens, [1_000, 1, 2, 3]);
        let took = network.runtime().elapsed();
        assert!(took < Duration::from_millis(110), "{took:?}");
    });
}

#[test]
fn what_is_received_does_not_wait() {
    simulate(async |network, _| {
        let slow = paced(network, Pace::new(1).burst(1)).await;
        slow.send(message(1)).await.unwrap();
        let blocked = slow.send(message(1));
        let receive = slow.recv();
        let pause = network.runtime().sleep(Duration::from_millis(10));
        tokio::select! {
            biased;
            _ = receive => panic!("nothing was sent"),
            _ = blocked => panic!("it has to wait for two seconds"),
            () = pause => {}
        }
    });
}
