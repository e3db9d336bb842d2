//! `drain`: when it returns, messages that layers held back have been sent, and messages that layers repeat
//! have arrived.

use crate::reliable::faults::{ends, message, number, worst};
use bertha_chunnels::{AtMostOnce, Batch, Fault, Fragment, Ordered, Pace, Reliable};
use bertha_core::{Base, Buf, Connection, Wrap, make_stack};
use bertha_datapath_sim::Sim;
use std::time::Duration;

/// Returns the next message if it is there without waiting for the network.
async fn next_at_once(connection: &impl Connection<Data = Buf>) -> Option<Buf> {
    let pause = {
        use bertha_core::Runtime;
        let runtime = connection.base().runtime();
        runtime.sleep_until(runtime.now())
    };
    tokio::select! {
        biased;
        message = connection.recv() => Some(message.unwrap()),
        () = pause => None,
    }
}

#[test]
fn what_is_drained_has_arrived() {
    for seed in 0..50 {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        network.set_link(worst());
        sim.run(async {
            let hour = Duration::from_secs(3_600);
            let stack = make_stack!(
                Batch::new().wait(hour),
                Ordered::new(),
                Fragment::new(),
                AtMostOnce,
                Reliable::new()
            );
            let [here, there] = ends(&network).await;
            let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
            for (number, len) in [10, 3_000, 0, 500].into_iter().enumerate() {
                here.send(message(number as u64, len)).await.unwrap();
            }
            here.drain().await.unwrap();
            // From now on no message arrives.
            network.cut([10, 0, 0, 1], [10, 0, 0, 2]);
            for expected in 0..4 {
                let message = next_at_once(&there).await;
                assert_eq!(message.map(|it| number(&it)), Some(expected), "seed {seed}");
            }
        });
    }
}

#[test]
fn layers_that_promise_nothing_send_what_they_hold() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let hour = Duration::from_secs(3_600);
        let fault = Fault::new(1).delay(Duration::from_millis(50));
        let stack = make_stack!(Batch::new().wait(hour), Pace::new(1_000_000), fault);
        let [here, there] = ends(&network).await;
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        let start = network.runtime().elapsed();
        here.send(message(7, 100)).await.unwrap();
        here.drain().await.unwrap();
        let took = network.runtime().elapsed() - start;
        assert!((50..100).contains(&took.as_millis()), "{took:?}");
        assert_eq!(number(&there.recv().await.unwrap()), 7);
    });
}
