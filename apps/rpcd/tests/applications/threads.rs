//! A daemon with several threads.

use crate::hotel::{Reserve, Running, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::engines::built_in;
use bertha_rpcd::Change;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

/// Number of callers.
const CALLERS: i32 = 8;

/// Number of calls of each caller.
const CALLS: i32 = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_call_has_its_outcome_while_threads_pass_on_calls_and_change_engines() {
    let daemon = Running::threaded(4);
    let _serving = serve(daemon.server().await);
    let mut calling = Vec::new();
    for caller in 0..CALLERS {
        let client = daemon.client().await;
        calling.push(tokio::spawn(async move {
            let customer = format!("caller-{caller}");
            let mut denied = 0;
            for nights in 0..CALLS {
                // A response as long as some of the requests goes through memory that is lent again and again.
                let guest = "x".repeat(if nights % 64 == 0 { 40 << 10 } else { 8 });
                let asked = request(&client.heap(), &customer, nights, &[&guest]);
                match client.call::<Reserve>(asked, Some(SOON)).await {
                    Ok(response) => {
                        assert_eq!(response.price, 100 * nights);
                        assert!(response.room.as_str() == format!("{customer}: {guest}"));
                    }
                    Err(failure) => {
                        assert_eq!((failure.kind(), caller), (FailureKind::Denied, 0));
                        denied += 1;
                    }
                }
            }
            denied
        }));
    }
    let acl = || built_in().into_iter().find(|kind| kind.name() == "acl").unwrap();
    let settings = || "field=customer deny=caller-0".parse().unwrap();
    let mut changes = 0;
    while calling.iter().any(|calls| !calls.is_finished()) {
        let add = Change::Add { name: "acl".into(), kind: acl(), settings: settings() };
        for change in [add, Change::Remove { name: "acl".into() }] {
            daemon.operator.change("hotel", &change).unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        changes += 1;
    }
    let mut denied = Vec::new();
    for calls in calling {
        denied.push(calls.await.unwrap());
    }
    assert!(changes > 0 && (1..CALLS).contains(&denied[0]), "{changes} changes, {denied:?}");
    assert_eq!(denied[1..].iter().sum::<i32>(), 0);
}
