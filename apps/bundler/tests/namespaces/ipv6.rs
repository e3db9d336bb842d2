//! A bundle of IPv6.

use crate::boxes::{Box, PORT, key, program};
use crate::path::Shaper;
use crate::site::{BUNDLE_V6, Place, RECEIVER_V6, SENDBOX, Site};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn packets_of_ipv6_pass_the_boxes() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let _path = Shaper::start(&site);
    let mut send = program(&site, Place::Sendbox);
    send.args(["send", "--route", BUNDLE_V6, "--listen", &format!("{SENDBOX}:{PORT}"), "--interval", "0.1"]);
    send.args(["--congestion", "cubic", "--key-file"]).arg(key(&folder));
    let sending = Box::start(&mut send, "bundle0 at");
    let mut receive = program(&site, Place::Receiver);
    receive.args(["receive", "--interface", "wan", "--to", BUNDLE_V6, "--interval", "0.1"]);
    receive.args(["--sendbox", &format!("{SENDBOX}:{PORT}"), "--key-file"]).arg(key(&folder));
    let receiving = Box::start(&mut receive, "acknowledges to");

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
