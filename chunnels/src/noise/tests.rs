use super::{Seal, SealConnection, wire};
use bertha_core::{Base, Buf, Connection, Wrap};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime_tokio::TokioRuntime;

type End = SealConnection<PairConnection<TokioRuntime, Buf>>;

async fn connected() -> (End, End) {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let seal = Seal::new(&[7; 32]);
    let (here, there) = tokio::join!(seal.wrap(here), seal.wrap(there));
    (here.unwrap(), there.unwrap())
}

fn message(connection: &End, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

/// The next message that is not a hello.
async fn sealed(end: &End) -> Buf {
    loop {
        let arrived = end.inner.recv().await.unwrap();
        if let Some(wire::Arrived::Sealed(_)) = wire::decode(&arrived) {
            return arrived;
        }
    }
}

#[tokio::test]
async fn what_is_sealed_is_opened_and_can_not_be_read_between() {
    let (here, there) = connected().await;
    for bytes in [&b""[..], b"a", b"secret that is long enough to be found"] {
        here.send(message(&here, bytes)).await.unwrap();
        assert_eq!(&*there.recv().await.unwrap(), bytes);
        there.send_batch([message(&there, bytes), message(&there, b"more")].into_iter()).await.unwrap();
        let mut burst = Vec::new();
        while burst.len() < 2 {
            here.recv_batch(&mut burst, 10).await.unwrap();
        }
        assert_eq!((&*burst[0], &*burst[1]), (bytes, &b"more"[..]));
    }
    here.send(message(&here, b"secret")).await.unwrap();
    let arrived = sealed(&there).await;
    assert_eq!(arrived.len(), wire::HEADER + 6);
    assert!(!arrived.windows(6).any(|bytes| bytes == b"secret"));
}

#[tokio::test]
async fn what_was_changed_or_comes_twice_is_dropped_and_counted() {
    let (here, there) = connected().await;
    here.send(message(&here, b"one")).await.unwrap();
    there.recv().await.unwrap();
    here.send(message(&here, b"two")).await.unwrap();
    let arrived = sealed(&there).await;
    for at in 0..arrived.len() {
        let mut changed = Buf::copy_of(&arrived, 0).unwrap();
        changed[at] ^= 1;
        assert!(there.open(changed).is_none(), "byte {at} may be changed");
    }
    // One of them decodes as a hello of the wrong length, which counts as well.
    assert_eq!(there.forged(), arrived.len() as u64);
    let again = Buf::copy_of(&arrived, 0).unwrap();
    assert_eq!(there.open(arrived).as_deref(), Some(&b"two"[..]));
    assert!(there.open(again).is_none());
    assert_eq!(there.repeated(), 1);
}

#[tokio::test]
async fn what_was_recorded_opens_in_no_other_connection() {
    let (here, there) = connected().await;
    here.send(message(&here, b"one")).await.unwrap();
    there.recv().await.unwrap();
    here.send(message(&here, b"two")).await.unwrap();
    let recorded = sealed(&there).await;
    let (_here, there) = connected().await;
    assert!(there.open(recorded).is_none());
}
