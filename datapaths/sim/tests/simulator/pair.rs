//! The pair in memory, on the simulator and on threads of its own.

use bertha_core::{Base, Buf, Connection, ErrorKind};
use bertha_datapath_sim::{Sim, pair};
use futures_util::FutureExt;
use futures_util::future::join;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

fn message(number: u64) -> Buf {
    Buf::copy_of(&number.to_be_bytes(), 0).unwrap()
}

fn number(message: &Buf) -> u64 {
    u64::from_be_bytes(message[..].try_into().unwrap())
}

/// A waker of a parked thread.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on the smallest possible executor, to show that the pair needs no particular executor.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn bursts_cross_threads_whole_and_in_order() {
    const COUNT: u64 = 20_000;
    let (here, there) = pair(Sim::new(1).runtime());
    let echo = std::thread::spawn(move || {
        block_on(async {
            let mut burst = Vec::new();
            while there.recv_batch(&mut burst, 32).await.is_ok() {
                assert!(burst.len() <= 32);
                there.send_batch(burst.drain(..)).await.unwrap();
            }
        });
    });
    block_on(async {
        let receive = async {
            for expected in 0..COUNT {
                assert_eq!(number(&here.recv().await.unwrap()), expected);
            }
        };
        join(here.send_batch((0..COUNT).map(message)), receive).await.0.unwrap();
    });
    drop(here);
    echo.join().unwrap();
}

#[test]
fn send_waits_for_room() {
    let (here, there) = pair(Sim::new(1).runtime());
    let mut sent = 0;
    while here.send(message(sent)).now_or_never().is_some() {
        sent += 1;
        assert!(sent < 100_000, "the queue has no bound");
    }
    assert_eq!(number(&there.recv().now_or_never().unwrap().unwrap()), 0);
    here.send(message(sent)).now_or_never().unwrap().unwrap();
    for expected in 1..=sent {
        assert_eq!(number(&there.recv().now_or_never().unwrap().unwrap()), expected);
    }
}

#[test]
fn the_other_end_drains_and_then_is_closed() {
    let (here, there) = pair(Sim::new(1).runtime());
    here.send(message(1)).now_or_never().unwrap().unwrap();
    there.send(message(2)).now_or_never().unwrap().unwrap();
    drop(here);
    assert_eq!(number(&there.recv().now_or_never().unwrap().unwrap()), 1);
    assert_eq!(there.recv().now_or_never().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(there.send(message(3)).now_or_never().unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn an_oversize_message_in_a_burst_ends_the_burst() {
    let (here, there) = pair(Sim::new(1).runtime());
    let large = || Buf::new(here.base().mtu() + 1, 0).unwrap();
    let mut burst = [message(1), large(), message(2)].into_iter();
    let error = here.send_batch(&mut burst).now_or_never().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    here.send_batch(burst).now_or_never().unwrap().unwrap();
    assert_eq!(number(&there.recv().now_or_never().unwrap().unwrap()), 1);
    assert_eq!(number(&there.recv().now_or_never().unwrap().unwrap()), 2);
}
