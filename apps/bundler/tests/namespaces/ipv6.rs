//! A bundle of IPv6.

use crate::boxes::{receivebox_of, sendbox};
use crate::path::Shaper;
use crate::site::{BUNDLE_V6, Place, RECEIVER_V6, Site};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn packets_of_ipv6_pass_the_boxes() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _path = Shaper::start(&site);
    let sending = sendbox(&site, &folder, "cubic", &["--route", BUNDLE_V6]);
    let receiving = receivebox_of(&site, &folder, &["--to", BUNDLE_V6]);

    let listener = site.inside(Place::Receiver, || TcpListener::bind((RECEIVER_V6, 7_000)).unwrap());
    let mut client = site.inside(Place::Sender, || TcpStream::connect((RECEIVER_V6, 7_000)).unwrap());
    let (mut served, _) = listener.accept().unwrap();
    let bytes = vec![7; 500_000];
    std::thread::scope(|scope| {
        scope.spawn(|| client.write_all(&bytes).unwrap());
        served.read_exact(&mut vec![0; bytes.len()]).unwrap();
    });
    receiving.prints_number("packets: ", |count| count > 100.0);
    receiving.prints_number("acknowledgements: ", |count| count > 0.0);
    sending.prints("unreadable: 0");

    assert!(site.ip(Place::Sendbox, "-6 rule").contains(BUNDLE_V6));
    assert!(sending.ends_well());
    assert!(!site.ip(Place::Sendbox, "-6 rule").contains(BUNDLE_V6));
    assert!(receiving.ends_well());
}
