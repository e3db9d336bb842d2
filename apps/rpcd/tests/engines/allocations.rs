//! A call costs the daemon no allocation because of engines.

use crate::hotel::{Reserve, Running, request, serve};
use crate::policies::add;
use bertha_allocations::of_thread;

/// Number of calls that are counted.
const CALLS: u64 = 300;

/// Returns the number of allocations of the daemon for calls, once others have filled pools and tables.
async fn allocations(engines: &[(&str, &str)]) -> u64 {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    for (name, settings) in engines {
        daemon.operator.change("hotel", &add(name, settings)).unwrap();
    }
    let client = daemon.client().await;
    let call = async || {
        for _ in 0..CALLS {
            let asked = request(&client.heap(), "ada", 1, &["guest"]);
            client.call::<Reserve>(asked, None).await.unwrap();
        }
    };
    let so_far = async || daemon.runtime.spawn(async { of_thread() }).await.unwrap();
    call().await;
    let before = so_far().await;
    call().await;
    so_far().await - before
}

#[tokio::test]
async fn engines_allocate_nothing_for_a_call() {
    let plain = allocations(&[]).await;
    let with_engines = allocations(&[
        ("metrics", ""),
        ("acl", "field=customer deny=eve"),
        ("rate-limit", "per-second=infinite"),
        ("quota", "calls=10"),
        ("qos", ""),
        ("null", ""),
    ])
    .await;
    // The tasks of a runtime may take some at any time.
    assert!(with_engines < plain + CALLS / 3, "{with_engines} allocations, and {plain} without engines");
}
