//! The interface of a receivebox.

use crate::boxes::receivebox;
use crate::site::{Place, Site};

#[test]
fn a_receivebox_waits_for_an_interface_that_is_down_and_ends_with_one_that_is_gone() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let receiving = receivebox(&site, &folder);
    site.ip(Place::Receiver, "link set wan down");
    receiving.prints("missed: 0");
    receiving.prints("missed: 0");
    site.ip(Place::Receiver, "link set wan up");
    receiving.prints("missed: 0");
    site.ip(Place::Receiver, "link del wan");
    assert!(receiving.fails("the interface `wan` is gone"));
}
