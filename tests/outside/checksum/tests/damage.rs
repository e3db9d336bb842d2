//! Messages that were damaged on their way.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnel_checksum::Checksum;
use bertha_core::{Buf, Connection, ErrorKind, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{Sim, pair};
use bertha_negotiation::Negotiate;

/// Returns the bytes that an end with checksums sends for each message, as an end without checksums receives
/// them.
async fn sealed(
    here: &impl Connection<Data = Buf>,
    there: &impl Connection<Data = Buf>,
    message: &[u8],
) -> Buf {
    here.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    there.recv().await.unwrap()
}

#[test]
fn damaged_messages_are_dropped_and_counted() {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        let here = Checksum::new().wrap(here).await.unwrap();
        let mut damaged = sealed(&here, &there, b"one").await;
        damaged[5] ^= 1;
        let whole = sealed(&here, &there, b"two").await;
        there.send(damaged).await.unwrap();
        there.send(Buf::copy_of(b"abc", 0).unwrap()).await.unwrap();
        there.send(whole).await.unwrap();
        assert_eq!(&*here.recv().await.unwrap(), b"two");
        assert_eq!(here.damaged(), 2);
    });
}

#[test]
fn a_burst_loses_what_is_damaged_and_nothing_else() {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        let here = Checksum::new().wrap(here).await.unwrap();
        let mut burst = Vec::new();
        for number in 0..4 {
            let mut message = sealed(&here, &there, &[number]).await;
            message[0] ^= number % 2;
            burst.push(message);
        }
        there.send_batch(burst.drain(..)).await.unwrap();
        while burst.len() < 2 {
            here.recv_batch(&mut burst, 8).await.unwrap();
        }
        assert_eq!(burst.iter().map(|message| message[0]).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(here.damaged(), 2);
    });
}

#[test]
fn ends_with_different_seeds_are_refused() {
    let mut sim = Sim::new(1);
    let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host([10, 0, 0, 2]));
    let runtime = sim.runtime();
    let error = sim.run(async {
        let stack = make_stack!(Checksum::seeded(7));
        let mut incoming = stack.listen(server, ([10, 0, 0, 2], 0)).await.unwrap();
        let to = incoming.local_addr();
        let _listening = runtime.spawn(async move { while incoming.next().await.is_some() {} });
        make_stack!(Checksum::seeded(8)).connect(client, to).await.map(drop).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("Checksum { seed: 7 }"), "{error}");
}
