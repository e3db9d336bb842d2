use super::Fragment;
use bertha_core::{Base, Buf, Connection, ErrorKind, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;

fn message(len: usize) -> Buf {
    let mut message = Buf::new(len, 1).unwrap();
    message.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8);
    message
}

#[tokio::test]
async fn messages_of_every_size_arrive_whole() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let stack = Fragment::new();
    let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
    for len in [0, 1, 1300, 1313, 1314, 1315, 2600, 2601, 100_000, 64 * 1024 * 1024] {
        // Both ends run at once, since the pair holds fewer messages than the largest message has pieces.
        let (sent, received) = tokio::join!(here.send(message(len)), there.recv());
        sent.unwrap();
        assert_eq!(*received.unwrap(), *message(len), "{len} bytes");
    }
    let error = here.send(message(64 * 1024 * 1024 + 1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(here.base().buffer(64 * 1024 * 1024).is_ok());
    assert_eq!(here.mtu() - here.base().reserved(), 64 * 1024 * 1024);
}

#[tokio::test]
async fn a_peer_that_contradicts_itself_is_refused_for_good() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Fragment::new().wrap(there).await.unwrap();
    let piece = |content: u8| {
        let mut piece = Buf::new(15 + 100, 0).unwrap();
        piece.fill(content);
        piece[..15].copy_from_slice(&[1, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 100, 0]);
        piece
    };
    for content in [5, 5, 6] {
        here.send(piece(content)).await.unwrap();
    }
    here.send(Buf::copy_of(&[7, 7], 0).unwrap()).await.unwrap();
    for _ in 0..2 {
        let error = there.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains("came twice with different contents"), "{error}");
        assert!(error.ends_connection());
        let error = there.send(message(5)).await.unwrap_err();
        assert!(error.ends_connection() && error.kind() == ErrorKind::Malformed, "{error}");
        let error = there.send_batch([message(5)].into_iter()).await.unwrap_err();
        assert!(error.ends_connection() && error.kind() == ErrorKind::Malformed, "{error}");
    }
}

#[tokio::test]
async fn what_is_no_piece_is_dropped_and_counted() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Fragment::new().wrap(there).await.unwrap();
    for bytes in [&[][..], &[2, 3], &[1, 2, 3], &[0, 42]] {
        here.send(Buf::copy_of(bytes, 0).unwrap()).await.unwrap();
    }
    assert_eq!(&*there.recv().await.unwrap(), &[42]);
    assert_eq!(there.malformed(), 3);
}
