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
    let took = |port, options: &[&str]| -> Duration {
        let sending = sendbox(&site, &folder, &format!("agent:{}", socket(&folder).display()), options);
        // The box is there first: beneath a full queue the path looks longer than it is.
        let _bulk = Bulk::start(&site, port, 2);
        sending.prints_number("queue: ", |ms| ms > 50.0);
        answers(&site, FIRST)
    };
    let in_order = took(7_000, &["--scheduling", "fifo", "--buffer", "600000"]);
    let first =
        took(7_002, &["--scheduling", "priority", "--first", &FIRST.to_string(), "--buffer", "600000"]);
    println!("{first:?} first, {in_order:?} in order");
    assert!(first * 3 < in_order * 2, "{first:?} first, {in_order:?} in order");
}
