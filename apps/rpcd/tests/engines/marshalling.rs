//! The number of times that a message is marshalled.

use crate::hotel::{Running, serve};
use crate::numbered::reserve;
use crate::policies::add;
use bertha_schemas::walks;

/// Number of calls that are counted.
const CALLS: u64 = 50;

/// Returns the number of steps of each daemon for a round trip of an application at the first.
async fn steps(daemons: &[Running]) -> Vec<u64> {
    let client = daemons[0].client().await;
    let so_far = async || {
        let mut counts = Vec::new();
        for daemon in daemons {
            counts.push(daemon.runtime.spawn(async { walks() }).await.unwrap());
        }
        counts
    };
    // The first call also connects.
    reserve(&client, "ada", 1).await.unwrap();
    let before = so_far().await;
    for nights in 0..CALLS {
        reserve(&client, "ada", nights as i32).await.unwrap();
    }
    so_far().await.iter().zip(before).map(|(count, before)| (count - before) / CALLS).collect()
}

/// Engines that read no field of a message add no step.
const ENGINES: [(&str, &str); 4] =
    [("null", ""), ("rate-limit", "per-second=infinite"), ("quota", "calls=10"), ("metrics", "")];

#[tokio::test]
async fn a_round_trip_between_machines_has_four_steps() {
    let daemons = Running::pair(None);
    let _serving = serve(daemons[1].server().await);
    assert_eq!(steps(&daemons).await, [2, 2]);
    for (daemon, (name, settings)) in daemons.iter().flat_map(|daemon| ENGINES.map(|engine| (daemon, engine)))
    {
        daemon.operator.change("hotel", &add(name, settings)).unwrap();
    }
    assert_eq!(steps(&daemons).await, [2, 2]);
}

/// A message goes from heap to heap by one copy.
#[tokio::test]
async fn a_round_trip_within_a_machine_has_two_copies() {
    let daemons = [Running::start()];
    let _serving = serve(daemons[0].server().await);
    assert_eq!(steps(&daemons).await, [2]);
}
