//! Messages of strangers.

use crate::boxes::{PORT, sendbox};
use crate::site::{Place, SENDBOX, Site};
use std::net::UdpSocket;

#[test]
fn messages_of_strangers_are_counted_and_change_nothing() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sending = sendbox(&site, &folder, "cubic", &[]);
    let stranger = site.inside(Place::Sender, || UdpSocket::bind("0.0.0.0:0").unwrap());
    let mut forged = [7; 24];
    forged[..4].copy_from_slice(&[1, 0, 0, 0]);
    for message in [&[][..], &[0; 24], &[1; 23], &[0xff; 1_400], &forged, &forged] {
        stranger.send_to(message, (SENDBOX, PORT)).unwrap();
    }
    sending.prints("unmatched: 2, implausible: 0, malformed: 4, unsent: 0");
    assert!(sending.ends_well());
}
