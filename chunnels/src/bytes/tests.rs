use super::Bytes;
use bertha_core::{Chunk, Connection, ErrorKind, Wrap, make_stack};
use bertha_datapath_sim::{Network, Sim};
use bertha_runtime::tokio::TokioRuntime;

#[tokio::test]
async fn a_peer_that_closes_without_an_end_is_not_taken_for_one_that_has_finished() {
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    let there = Bytes.wrap(there).await;
    // Messages in memory are reliable, and the pair declares it.
    let there = there.unwrap();
    here.send(bertha_core::Buf::copy_of(b"half", 0).unwrap()).await.unwrap();
    drop(here);
    assert_eq!(&*there.recv().await.unwrap(), b"half");
    assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Reset);
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    let (here, there) = (Bytes.wrap(here).await.unwrap(), Bytes.wrap(there).await.unwrap());
    here.send(Chunk::copy_of(b"whole").unwrap()).await.unwrap();
    here.close().await.unwrap();
    assert_eq!(&*there.recv().await.unwrap(), b"whole");
    for _ in 0..2 {
        assert!(there.recv().await.unwrap().is_end());
    }
}

#[test]
fn datagrams_carry_no_stream() {
    let mut sim = Sim::new(1);
    let network: Network = sim.network().clone();
    let host = network.host([10, 0, 0, 1]);
    let error = sim.run(async {
        use bertha_core::Datapath;
        let datagrams = host.connect("10.0.0.2:1".parse().unwrap()).await.unwrap();
        make_stack!(Bytes).wrap(datagrams).await.unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("reliable, ordered"), "{error}");
}

#[tokio::test]
async fn an_end_that_another_receiver_took_is_seen_by_all() {
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    let (here, there) = (Bytes.wrap(here).await.unwrap(), Bytes.wrap(there).await.unwrap());
    let there = std::sync::Arc::new(there);
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let there = there.clone();
            tokio::spawn(async move { there.recv().await })
        })
        .collect();
    tokio::task::yield_now().await;
    here.send(Chunk::end()).await.unwrap();
    here.close().await.unwrap();
    for recv in waiting {
        assert!(recv.await.unwrap().unwrap().is_end());
    }
}
