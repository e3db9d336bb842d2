use super::{Ending, NotTaken, Queue};
use bertha_core::ErrorKind;
use futures_util::FutureExt;
use futures_util::task::noop_waker_ref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn all_who_wait_are_woken_and_those_who_left_are_forgotten() {
    let queue = Queue::new(4);
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut stays = pin!(queue.pop());
    let mut too = pin!(queue.pop());
    assert!(stays.as_mut().poll(&mut context).is_pending());
    assert!(too.as_mut().poll(&mut context).is_pending());
    for _ in 0..1000 {
        assert!(pin!(queue.pop()).poll(&mut context).is_pending());
    }
    assert_eq!(queue.state.lock().receivers.len(), 2);
    queue.try_push(1).unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 2);
    assert!(stays.as_mut().poll(&mut context).is_ready());
    assert!(too.as_mut().poll(&mut context).is_pending());
}

#[test]
fn a_partial_burst_wakes_receivers_before_it_waits() {
    let queue = Queue::new(2);
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut receiver = pin!(queue.pop());
    assert!(receiver.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let mut burst = pin!(queue.push_all((0..3).map(Ok)));
    assert!(burst.as_mut().poll(&mut Context::from_waker(noop_waker_ref())).is_pending());
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert_eq!(receiver.now_or_never().unwrap().unwrap(), 0);
    burst.now_or_never().unwrap().unwrap();
}

#[test]
fn ends_wake_both_sides_and_keep_what_is_there() {
    let queue = Queue::new(1);
    queue.try_push(1).unwrap();
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut sender = pin!(queue.push(2));
    assert!(sender.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    queue.end(Ending::HERE);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert_eq!(sender.now_or_never().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert!(matches!(queue.try_push(3), Err(NotTaken::Ended)));
    assert_eq!(queue.pop().now_or_never().unwrap().unwrap(), 1);
    assert_eq!(queue.pop().now_or_never().unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_notice_is_reported_once() {
    const NOTICE: Ending = Ending { kind: ErrorKind::Unreachable, context: "nobody is there" };
    let queue = Queue::<u8>::new(1);
    queue.notify(NOTICE);
    assert_eq!(queue.pop().now_or_never().unwrap().unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(queue.pop().now_or_never().is_none());
    queue.notify(NOTICE);
    assert!(queue.check().is_err() && queue.check().is_ok());
}
