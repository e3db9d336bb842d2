//! The queue of the path, with and without the boxes.

use crate::agent::{Agent, socket};
use crate::boxes::{receivebox, sendbox};
use crate::flow::Bulk;
use crate::path::{RATE, Shaper};
use crate::site::{Place, Site};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// The time over which the path is measured.
const MEASURED: Duration = Duration::from_millis(1_200);

/// Returns the mean time in the path's queue, and the share of the path's rate that arrives.
fn measure(path: &Shaper, bulk: &Bulk) -> (Duration, f64) {
    let (start, before) = (Instant::now(), bulk.arrived());
    let queueing = path.queueing(MEASURED);
    let rate = (bulk.arrived() - before) as f64 / start.elapsed().as_secs_f64();
    (queueing, rate / RATE as f64)
}

#[test]
fn the_queue_is_the_sendboxs_until_an_end_fails() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = Shaper::start(&site);
    let agent = Agent::start(&folder);
    let receiving = receivebox(&site, &folder);
    let sending = sendbox(&site, &folder, &format!("agent:{}", socket(&folder).display()), &[]);
    let bulk = Bulk::start(&site, 7_000, 2);
    // The inner loop and the flows find the path's rate at the same time.
    std::thread::sleep(2 * MEASURED);
    let (with, share) = measure(&path, &bulk);
    sending.prints_number("queue: ", |ms| ms > 10.0);

    // Without the agent all packets pass.
    agent.signal(Signal::KILL);
    sending.prints("limit: none");
    drop(agent);
    let _agent = Agent::start(&folder);
    sending.prints_number("limit: ", |rate| rate > 0.0);

    // Without the receivebox all packets pass, and it may come again.
    receiving.signal(Signal::KILL);
    sending.prints_number("measurements: ", |count| count == 0.0);
    sending.prints_number("queue: ", |ms| ms < 1.0);
    sending.prints_number("sent: ", |rate| rate > 5.0);
    let _receiving = receivebox(&site, &folder);
    sending.prints_number("measurements: ", |count| count > 0.0);

    // Without the sendbox packets take their former route.
    sending.signal(Signal::KILL);
    drop(sending);
    std::thread::sleep(MEASURED / 2);
    let (without, share_without) = measure(&path, &bulk);
    println!(
        "in the path's queue: {with:?}, {without:?} without boxes; arriving: {share:.3}, {share_without:.3}"
    );
    assert!(with * 2 < without, "{with:?} with the boxes, {without:?} without them");
    assert!(share > 0.75 * share_without, "{share} with the boxes, {share_without} without them");

    // The next box removes the rules that were left behind, and its own rules at its end.
    assert!(site.ip(Place::Sendbox, "rule").contains("bundle0"));
    let next = sendbox(&site, &folder, "cubic", &["--device", "other"]);
    next.prints_number("measurements: ", |count| count > 0.0);
    assert!(!site.ip(Place::Sendbox, "rule").contains("bundle0"));
    assert!(next.ends_well());
    assert!(!site.ip(Place::Sendbox, "rule").contains("710"));
}
