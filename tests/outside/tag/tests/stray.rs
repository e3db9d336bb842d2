//! Messages of other applications.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnel_tag::Tag;
use bertha_core::{Buf, Connection, ErrorKind, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{Sim, pair};
use bertha_negotiation::Negotiate;

/// Returns a message as it arrives with the tag 7, or with another tag.
fn message(tag: u8, text: &[u8]) -> Buf {
    Buf::copy_of(&[&[tag, 0, 0, 0][..], text].concat(), 0).unwrap()
}

#[test]
fn stray_messages_are_dropped_and_counted() {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        let here = Tag::new(7).wrap(here).await.unwrap();
        for stray in [message(8, b"one"), Buf::copy_of(&[7, 0, 0], 0).unwrap(), message(7, b"two")] {
            there.send(stray).await.unwrap();
        }
        assert_eq!(&*here.recv().await.unwrap(), b"two");
        assert_eq!(here.stray(), 2);
        // A message without headroom, too.
        here.send(Buf::copy_of(b"three", 0).unwrap()).await.unwrap();
        assert_eq!(*there.recv().await.unwrap(), *message(7, b"three"));
    });
}

#[test]
fn a_burst_loses_its_stray_messages_alone() {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        let here = Tag::new(7).wrap(here).await.unwrap();
        there.send_batch((0..4).map(|number| message(7 + number % 2, &[number]))).await.unwrap();
        let mut burst = Vec::new();
        while burst.len() < 2 {
            here.recv_batch(&mut burst, 8).await.unwrap();
        }
        assert_eq!(burst.iter().map(|message| message[0]).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(here.stray(), 2);
    });
}

#[test]
fn ends_with_different_tags_are_refused() {
    let mut sim = Sim::new(1);
    let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host([10, 0, 0, 2]));
    let runtime = sim.runtime();
    let error = sim.run(async {
        let stack = make_stack!(Tag::new(7));
        let mut incoming = stack.listen(server, ([10, 0, 0, 2], 0)).await.unwrap();
        let to = incoming.local_addr();
        let _listening = runtime.spawn(async move { while incoming.next().await.is_some() {} });
        make_stack!(Tag::new(8)).connect(client, to).await.map(drop).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("Tag { application: 7 }"), "{error}");
}
