use super::{Fragment, FragmentStatistics};
use bertha_core::statistics::Observed;
use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Statistics, Wrap};
use bertha_datapath_sim::{Sim, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::FutureExt;

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

#[tokio::test]
async fn a_message_is_whole_as_long_as_a_piece_with_its_header_has_its_length() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = Fragment::new().piece(100).wrap(here).await.unwrap();
    for (len, below) in
        [(0, &[1][..]), (114, &[115]), (115, &[115, 30]), (200, &[115, 115]), (201, &[115, 115, 16])]
    {
        // Without headroom, as a message from another connection.
        here.send(Buf::copy_of(&message(len), 0).unwrap()).await.unwrap();
        for below in below {
            assert_eq!(there.recv().await.unwrap().len(), *below, "of {len} bytes");
        }
    }
    here.send_batch([1, 300, 2].map(message).into_iter()).await.unwrap();
    for below in [2, 115, 115, 115, 3] {
        assert_eq!(there.recv().await.unwrap().len(), below);
    }
}

#[tokio::test]
async fn pieces_have_at_least_64_bytes() {
    for (limit, arrives) in [(79, false), (80, true)] {
        let (here, there) = pair_of::<_, Buf>(TokioRuntime);
        // The lower layer carries messages of this length.
        let lower = Fragment::new().limit(limit);
        let (here, there) = (lower.wrap(here).await.unwrap(), lower.wrap(there).await.unwrap());
        let (here, there) =
            (Fragment::new().wrap(here).await.unwrap(), Fragment::new().wrap(there).await.unwrap());
        let sent = here.send(message(200)).await.map_err(|error| error.kind());
        assert_eq!(sent, if arrives { Ok(()) } else { Err(ErrorKind::TooLarge) });
        if arrives {
            assert_eq!(*there.recv().await.unwrap(), *message(200));
        }
    }
}

#[tokio::test]
async fn a_burst_of_at_most_zero_messages_is_empty_at_once() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let stack = Fragment::new().piece(100);
    let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
    let mut burst = Vec::new();
    assert_eq!(there.recv_batch(&mut burst, 0).await.unwrap(), 0);
    here.send(message(5)).await.unwrap();
    here.send(message(300)).await.unwrap();
    assert_eq!(there.recv_batch(&mut burst, 0).await.unwrap(), 0);
    while burst.len() < 2 {
        let before = burst.len();
        let count = there.recv_batch(&mut burst, 2).await.unwrap();
        assert_eq!(burst.len() - before, count);
    }
    assert!(*burst[0] == *message(5) && *burst[1] == *message(300));
}

#[tokio::test]
async fn a_probe_is_acknowledged_once_by_the_call_after_it() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Fragment::new().wrap(there).await.unwrap();
    for probe in [&[2, 7, 0, 0, 0, 0, 0][..], &[2, 0, 0, 0, 0]] {
        here.send(Buf::copy_of(probe, 0).unwrap()).await.unwrap();
    }
    here.send(Buf::copy_of(&[0, 42], 0).unwrap()).await.unwrap();
    assert_eq!(&*there.recv().await.unwrap(), &[42]);
    for ack in [&[3, 7, 0, 0, 0], &[3, 0, 0, 0, 0]] {
        assert_eq!(&*here.recv().await.unwrap(), ack);
    }
    here.send(Buf::copy_of(&[0, 43], 0).unwrap()).await.unwrap();
    assert_eq!(&*there.recv().await.unwrap(), &[43]);
    there.send(message(1)).await.unwrap();
    assert_eq!(here.recv().await.unwrap().len(), 2, "no further acknowledgement");
}

#[tokio::test]
async fn messages_that_were_evicted_are_counted() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Fragment::new().incomplete(1).wrap(there).await.unwrap();
    for message in 0..4 {
        let mut piece = Buf::new(15 + 100, 0).unwrap();
        piece[..15].copy_from_slice(&[1, message, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 100, 0]);
        here.send(piece).await.unwrap();
    }
    here.send(Buf::copy_of(&[0], 0).unwrap()).await.unwrap();
    there.recv().await.unwrap();
    assert_eq!(there.abandoned(), 3);
}

#[test]
fn a_path_is_discovered_over_datagrams_alone_and_up_to_the_size_of_pieces() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let connect = async || {
            let client =
                network.host([10, 0, 0, 1]).connect(Addr::Ip(([10, 0, 0, 2], 7).into())).await.unwrap();
            client.base().reserve(4);
            client
        };
        let path_mtu = async |stack: Fragment| stack.wrap(connect().await).await.unwrap().path_mtu();
        assert_eq!(path_mtu(Fragment::new()).await, None);
        assert_eq!(path_mtu(Fragment::new().discover_path()).await, Some(1_200));
        assert_eq!(path_mtu(Fragment::new().discover_path().piece(600)).await, Some(600 + 15 + 4));
        let (stream, _there) = pair_of::<_, Buf>(network.runtime().clone());
        assert_eq!(Fragment::new().discover_path().wrap(stream).await.unwrap().path_mtu(), None);
    });
}

#[tokio::test]
async fn messages_that_have_arrived_in_part_are_told() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let there = Fragment::new().piece(500).wrap(there).await.unwrap();
    let mut piece = Buf::new(15 + 100, 0).unwrap();
    piece[..15].copy_from_slice(&[1, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 100, 0]);
    here.send(piece).await.unwrap();
    assert!(there.recv().now_or_never().is_none());
    let mut statistics = Statistics::default();
    there.state().observe(&mut statistics);
    let told: FragmentStatistics = *statistics.get().unwrap();
    assert_eq!((told.incomplete_messages, told.piece, told.path_mtu), (1, 500, None));
    assert!(told.incomplete_bytes >= 100, "{told:?}");
}
