//! The order of packets at the sendbox.

use crate::agent::{Agent, socket};
use crate::boxes::{receivebox, sendbox};
use crate::flow::{Bulk, answers};
use crate::path::Shaper;
use crate::site::Site;
use std::time::Duration;

/// The port that goes first, if any goes first.
const FIRST: u16 = 7_001;

#[test]
fn a_request_of_the_highest_class_passes_a_bulk_flow() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _path = Shaper::start(&site);
    let _agent = Agent::start(&folder);
    let _receiving = receivebox(&site, &folder);
    let _bulk = Bulk::start(&site, 7_000, 2);
    let took = |options: &[&str]| -> Duration {
        let sending = sendbox(&site, &folder, &format!("agent:{}", socket(&folder).display()), options);
        sending.prints_number("queue: ", |ms| ms > 50.0);
        answers(&site, FIRST)
    };
    let in_order = took(&["--scheduling", "fifo", "--buffer", "600000"]);
    let first = took(&["--scheduling", "priority", "--first", &FIRST.to_string(), "--buffer", "600000"]);
    println!("{first:?} first, {in_order:?} in order");
    assert!(first * 3 < in_order * 2, "{first:?} first, {in_order:?} in order");
}
