use super::AtMostOnce;
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime_tokio::TokioRuntime;

#[tokio::test]
async fn duplicates_are_dropped_and_counted() {
    let (here, wire) = pair_of::<_, Buf>(TokioRuntime);
    let (relay, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = AtMostOnce.wrap(here).await.unwrap();
    let there = AtMostOnce.wrap(there).await.unwrap();
    for number in 0..3_u8 {
        here.send(Buf::copy_of(&[number; 5], 8).unwrap()).await.unwrap();
    }
    let mut messages = Vec::new();
    wire.recv_batch(&mut messages, 9).await.unwrap();
    // In reverse order, each twice, and a message that is too short.
    for message in messages.iter().rev().chain(&messages) {
        relay.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    }
    relay.send(Buf::new(7, 0).unwrap()).await.unwrap();
    here.send(Buf::copy_of(&[3; 5], 0).unwrap()).await.unwrap();
    relay.send(wire.recv().await.unwrap()).await.unwrap();

    assert_eq!(&*there.recv().await.unwrap(), &[2; 5]);
    let mut burst = Vec::new();
    while burst.len() < 3 {
        there.recv_batch(&mut burst, 2).await.unwrap();
    }
    assert!(burst.iter().map(|message| message[0]).eq([1, 0, 3]));
    assert_eq!(there.duplicates(), 4);
}
