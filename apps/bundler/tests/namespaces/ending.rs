//! The end of a sendbox by signals.

use crate::boxes::sendbox;
use crate::site::{Place, Site};
use rustix::process::Signal;

/// As an impatient operator and a supervisor do together. Two signals of one kind might count as one.
#[test]
fn two_signals_leave_no_rule_behind() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sending = sendbox(&site, &folder, "cubic", &[]);
    assert!(site.ip(Place::Sendbox, "rule").contains("7101"));
    sending.signal(Signal::TERM);
    sending.signal(Signal::INT);
    sending.wait();
    assert!(!site.ip(Place::Sendbox, "rule").contains("710"));
}
