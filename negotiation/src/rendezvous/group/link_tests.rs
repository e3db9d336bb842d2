//! A link where each message reaches one receiver, over a service that repeats what is not acknowledged.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use super::link::{GroupLink, GroupLinkShared};
use super::round_id::RoundId;
use super::share::REPETITIONS;
use crate::wire::{Kind, Origin};
use bertha_core::{Buf, Connection, ErrorKind};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair};

const ROUND: RoundId = RoundId { life: 7, number: 1 };

type Wire = PairConnection<SimRuntime>;

fn delivered(number: u32) -> Buf {
    let origin = Origin { number, sender: 9 };
    Buf::copy_of(&[&ROUND.header(Kind::GroupData)[..], &origin.to_bytes(), b"data"].concat(), 0).unwrap()
}

fn receiver(runtime: SimRuntime) -> (GroupLink<Wire>, Wire) {
    let (here, service) = pair(runtime);
    let (agent, _) = tokio::sync::mpsc::channel(1);
    let shared = GroupLinkShared::new(here, 3, None, Some(true), agent);
    (shared.open_round(ROUND, true, false).link, service)
}

/// The stack holds a message until the message behind it comes, and the service repeats the held one meanwhile.
#[test]
fn the_message_behind_one_that_is_repeated_too_often_is_received() {
    for batch in [false, true] {
        let mut sim = Sim::new(1);
        let (link, service) = receiver(sim.runtime());
        sim.run(async {
            let repeated = REPETITIONS + 10;
            for _ in 0..=repeated {
                service.send(delivered(0)).await.unwrap();
            }
            service.send(delivered(1)).await.unwrap();
            let held = link.recv().await.unwrap();
            let mut told = 0;
            let later = loop {
                let mut received = Vec::new();
                let outcome = match batch {
                    true => link.recv_batch(&mut received, 1).await.map(|_| received.remove(0)),
                    false => link.recv().await,
                };
                match outcome {
                    Ok(message) => break message,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
                        assert!(!error.ends_connection());
                        told += 1;
                        assert!(told <= repeated, "it takes no more messages");
                    }
                }
            };
            assert!(told > 0);
            drop((held, later));
            service.send(delivered(2)).await.unwrap();
            assert_eq!(&*link.recv().await.unwrap(), b"data");
        });
    }
}
