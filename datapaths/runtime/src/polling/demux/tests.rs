use super::*;
use crate::polling::waiters::WaiterKey;
use std::task::Waker;

const PEER: u32 = 7;

fn listening(backlog: usize, queue: usize) -> Demux<u32> {
    let mut demux = Demux::new(Limits { backlog, queue, shared: usize::MAX });
    assert_eq!(demux.listen(), 0);
    demux
}

fn messages(bytes: &[u8]) -> Segments {
    Buf::copy_of(bytes, 0).unwrap().into_segments(1)
}

/// Delivers messages of one byte each from a peer, and returns the number of dropped messages.
fn deliver(demux: &mut Demux<u32>, from: u32, bytes: &[u8]) -> usize {
    match demux.find(&from).or_else(|| demux.admit(0, from, ())) {
        Some(connection) => demux.deliver(connection, messages(bytes)),
        None => bytes.len(),
    }
}

fn queued(demux: &mut Demux<u32>, connection: usize) -> Vec<u8> {
    let mut batch = ReceiveBatch::<Segments>::new(connection, usize::MAX);
    demux.fill(connection, &mut batch);
    batch.drain().flatten().map(|message| message[0]).collect()
}

fn remove_backlog(demux: &mut Demux<u32>) {
    while let Some((connection, _)) = demux.accept(0) {
        demux.remove(connection);
    }
}

#[test]
fn the_first_message_makes_a_connection_that_has_it() {
    let mut demux = listening(2, 10);
    deliver(&mut demux, PEER, b"a");
    deliver(&mut demux, PEER, b"bc");
    let (connection, peer) = demux.accept(0).unwrap();
    assert_eq!((peer, demux.accept(0)), (PEER, None));
    deliver(&mut demux, PEER, b"d");
    assert_eq!(queued(&mut demux, connection), b"abcd");
}

#[test]
fn a_flood_of_addresses_takes_no_more_than_the_backlog() {
    let mut demux = listening(8, 10);
    let dropped: usize = (0..10_000).map(|from| deliver(&mut demux, from, b"xy")).sum();
    assert_eq!((demux.connections.len(), dropped, demux.take_evicted()), (8, 0, 2 * (10_000 - 8)));
    // The newest clients are there: earlier clients do not keep later clients out.
    let held: Vec<_> = std::iter::from_fn(|| demux.accept(0)).map(|(_, peer)| peer).collect();
    assert_eq!(held, Vec::from_iter(9_992..10_000));
}

#[test]
fn queues_are_bounded_until_accepted_and_after() {
    let mut demux = listening(2, 40);
    assert_eq!(deliver(&mut demux, 1, &[0; 100]), 100 - UNACCEPTED);
    let (connection, _) = demux.accept(0).unwrap();
    assert_eq!(queued(&mut demux, connection).len(), UNACCEPTED);
    assert_eq!(deliver(&mut demux, 1, &[0; 100]), 60);
    assert_eq!(queued(&mut demux, connection).len(), 40);
    // The future that receives takes its messages at once, so its own messages are not bounded.
    let buffer = || Buf::copy_of(&[0; 100], 0).unwrap();
    let mut batch = ReceiveBatch::<Segments>::new(connection, 30);
    demux.deliver_own(connection, buffer(), 1, &mut batch);
    assert_eq!((batch.drain().flatten().count(), queued(&mut demux, connection).len()), (30, 70));
    let mut single = ReceiveBatch::<Buf>::new(connection, 1);
    demux.deliver_own(connection, buffer(), 1, &mut single);
    assert_eq!((single.drain().count(), queued(&mut demux, connection).len()), (1, 99));
}

#[test]
fn strangers_hold_no_buffers_of_the_source_and_few_bytes() {
    let mut demux = listening(1024, 1024);
    let block = 60_000;
    let mut source = Buf::new(block, 0).unwrap();
    source[0] = 1;
    let mut kept = 0;
    for from in 0..1024 {
        for _ in 0..UNACCEPTED {
            let connection = demux.find(&from).or_else(|| demux.admit(0, from, ())).unwrap();
            let message = source.split_to(0).map(|_| Buf::copy_of(&source, 0).unwrap()).unwrap();
            kept += 1 - demux.deliver(connection, message.into_segments(block));
            assert!(demux.unaccepted <= ALL_UNACCEPTED_BYTES);
        }
    }
    kept -= demux.take_evicted();
    assert_eq!(kept * block, demux.unaccepted);
    assert!(demux.unaccepted > ALL_UNACCEPTED_BYTES / 2, "{kept}");
    assert!(demux.find(&1023).is_some() && demux.find(&0).is_none(), "the oldest gave way");
    while demux.accept(0).is_some() {}
    assert_eq!(demux.unaccepted, 0);
    // A stranger's message lies in memory of its own: the source has its buffer back.
    let mut demux = listening(1, 16);
    let connection = demux.admit(0, PEER, ()).unwrap();
    let message = Buf::copy_of(b"hello", 0).unwrap();
    let place = message.as_ptr();
    demux.deliver(connection, message.into_segments(5));
    demux.accept(0).unwrap();
    assert_ne!(demux.pop(connection).unwrap().as_ptr(), place);
    assert_eq!((demux.unaccepted, demux.queued), (0, 0));
}

#[test]
fn no_connection_takes_more_of_what_is_shared_than_it_leaves() {
    let mut demux = Demux::new(Limits { backlog: 1, queue: 100, shared: 30 });
    let [first, second] = [1, 2].map(|peer| demux.connect(peer, ()));
    let dropped: usize = (0..40).map(|_| demux.deliver(first, messages(b"a"))).sum();
    assert_eq!(demux.waiting(first), 40 - dropped);
    assert_eq!(demux.waiting(first), 15);
    assert_eq!(demux.deliver(second, messages(b"a")), 0);
    demux.close(first);
    demux.remove(first);
    assert_eq!(demux.queued, 1);
}

#[test]
fn a_removed_connection_leaves_nothing_and_its_number_is_safe_to_reuse() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a");
    let (first, _) = demux.accept(0).unwrap();
    demux.remove(first);
    deliver(&mut demux, 2, b"b");
    let (second, peer) = demux.accept(0).unwrap();
    assert_eq!((second, peer), (first, 2));
    deliver(&mut demux, 1, b"c");
    assert_eq!(queued(&mut demux, second), b"b");
    assert_eq!(demux.accept(0).unwrap().1, 1);
}

#[test]
fn a_closed_connection_swallows_late_messages() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a");
    let (connection, _) = demux.accept(0).unwrap();
    demux.close(connection);
    deliver(&mut demux, 1, b"late");
    assert!(demux.is_closed(connection));
    assert_eq!((queued(&mut demux, connection), demux.accept(0)), (vec![], None));
}

#[test]
fn no_connections_are_made_once_listening_stopped() {
    let mut demux = listening(4, 10);
    deliver(&mut demux, 1, b"a");
    demux.accept(0).unwrap();
    deliver(&mut demux, 2, b"a");
    remove_backlog(&mut demux);
    demux.stop_listening(0);
    assert_eq!([2, 3].map(|from| deliver(&mut demux, from, b"a")), [1, 1]);
    assert_eq!((demux.connections.len(), deliver(&mut demux, 1, b"a")), (1, 0));
}

#[test]
fn a_batch_gets_messages_past_the_queue_unless_older_ones_wait() {
    let mut demux = listening(4, 10);
    let connection = demux.connect(PEER, ());
    let mut batch = ReceiveBatch::<Buf>::new(connection, 3);
    batch.push(Buf::copy_of(b"a", 0).unwrap());
    demux.keep_order(connection, &mut batch);
    assert_eq!((batch.wanted(), batch.is_full()), (2, false));
    deliver(&mut demux, PEER, b"bc");
    demux.keep_order(connection, &mut batch);
    assert!(batch.is_full());
    assert_eq!(batch.drain().map(|message| message[0]).collect::<Vec<_>>(), b"a");
    assert_eq!(queued(&mut demux, connection), b"bc");
}

#[test]
fn a_poller_that_has_to_follow_makes_room_for_another() {
    let mut demux = listening(4, 10);
    let [mut a, mut b] = [(); 2].map(|()| WaiterKey::new(Awaited::Listener(0)));
    assert!(demux.begin_receiving());
    demux.end_receiving();
    assert!(demux.wait(&mut a, Waker::noop(), Role::Poller));
    // Another future receives on another thread when the poller is woken.
    assert!(demux.begin_receiving());
    assert!(!demux.begin_receiving());
    demux.wait(&mut a, Waker::noop(), Role::Follower);
    assert_eq!(demux.poller, None);
    demux.end_receiving();
    assert!(demux.wait(&mut b, Waker::noop(), Role::Poller) && demux.follows(&a));
    demux.leave(&mut b);
    assert!(demux.lacks_poller() && demux.promote(|_| true));
    assert_eq!((demux.poller, demux.wakes()), (a.token, false));
    demux.leave(&mut a);
    assert_eq!((demux.poller, demux.waiters.len(), demux.listeners[0].waiters.len()), (None, 0, 0));
    assert!(!demux.promote(|_| true));
}

#[test]
fn a_future_that_begins_to_wait_takes_over_and_an_onlooker_is_never_promoted() {
    let mut demux = listening(4, 10).busy();
    let connection = demux.connect(PEER, ());
    let [mut a, mut b] = [(); 2].map(|()| WaiterKey::new(Awaited::Connection(connection)));
    let mut onlooker = WaiterKey::new(Awaited::Listener(0));
    assert!(demux.wait(&mut a, Waker::noop(), Role::Poller));
    assert!(demux.wait(&mut b, Waker::noop(), Role::Poller));
    assert!(!demux.wait(&mut onlooker, Waker::noop(), Role::Onlooker));
    // The future has lost the role of the poller, and does not regain it by being polled.
    assert!(!demux.wait(&mut a, Waker::noop(), Role::Poller) && demux.follows(&a));
    demux.leave(&mut b);
    assert!(demux.promote(|_| false) && demux.wakes());
    assert_eq!((demux.poller, demux.take_woken().len()), (a.token, 1));
    demux.leave(&mut a);
    assert!(!demux.promote(|_| false));
    demux.leave(&mut onlooker);
}

#[test]
fn an_event_wakes_one_future_after_the_other() {
    let mut demux = listening(1, 1);
    let event = demux.open_event();
    let mut keys = [(); 3].map(|()| WaiterKey::new(Awaited::Event(event)));
    keys.iter_mut().for_each(|key| {
        demux.wait(key, Waker::noop(), Role::Onlooker);
    });
    demux.announce(event);
    for key in &mut keys {
        assert_eq!(demux.take_woken().len(), 1);
        demux.leave(key);
    }
    assert!(!demux.wakes());
    demux.close_event(event);
}
