//! Tasks, timers and sockets that are used by threads other than the runtime's.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_core::{Addr, Connection, Datapath, ErrorKind, Runtime};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Tcp};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire)
}

/// Waits until a thread that gets a waker has set the flag.
async fn woken_by(thread: impl Fn(Waker, Arc<AtomicBool>) + Send) {
    let flag = Arc::<AtomicBool>::default();
    let mut started = false;
    poll_fn(|cx| {
        if is_set(&flag) {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut started, true) {
            thread(cx.waker().clone(), flag.clone());
        }
        Poll::Pending
    })
    .await;
}

async fn wake() {
    woken_by(|waker, flag| {
        thread::spawn(move || {
            flag.store(true, Ordering::Release);
            waker.wake();
        });
    })
    .await;
}

/// A thread has connections, a timer and a task of its own; calls of the connections fail, and all of it is dropped there.
async fn own() {
    let peer: Addr = "10.77.0.2:0".parse().unwrap();
    let listener = Tcp::new().listen(peer).await.unwrap();
    let datagrams = Caladan::new().connect("10.77.0.1:9".parse().unwrap()).await.unwrap();
    let to = bertha_core::Listener::local_addr(&listener);
    let stream = Tcp::new().connect(to).await.unwrap();
    let mut sleep = Box::pin(CaladanRuntime.sleep_until(Instant::now() + Duration::from_secs(60)));
    poll_fn(|cx| {
        assert!(sleep.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let began = Arc::<AtomicBool>::default();
    let (begins, ends) = (began.clone(), Arc::<AtomicBool>::default());
    let end = ends.clone();
    let thread = thread::spawn(move || {
        let mut cx = Context::from_waker(Waker::noop());
        let refused = |polled: Poll<Result<(), bertha_core::Error>>| match polled {
            Poll::Ready(Err(error)) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
            other => panic!("{other:?} outside of the runtime"),
        };
        refused(pin!(datagrams.recv()).as_mut().poll(&mut cx).map_ok(drop));
        refused(pin!(stream.recv()).as_mut().poll(&mut cx).map_ok(drop));
        refused(
            pin!(Caladan::new().connect("10.77.0.1:9".parse().unwrap())).as_mut().poll(&mut cx).map_ok(drop),
        );
        drop((sleep, datagrams, stream, listener));
        let guard = scope_guard(end);
        let task = CaladanRuntime.spawn(async move {
            let _guard = guard;
            begins.store(true, Ordering::Release);
            pending::<()>().await;
        });
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_set(&began) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(is_set(&began), "a task that another thread spawned did not run");
        drop(task);
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    while !(is_set(&ends) && thread.is_finished()) {
        assert!(Instant::now() < deadline, "a task that another thread dropped did not end");
        CaladanRuntime.sleep_until(Instant::now() + Duration::from_millis(1)).await;
    }
    thread.join().unwrap();
}

/// Sets the flag when it is dropped.
fn scope_guard(flag: Arc<AtomicBool>) -> impl Send + 'static {
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    Guard(flag)
}

#[test]
fn other_threads_are_served() {
    run_beside("strangers::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if !is_beside() {
        return;
    }
    run(&config(2), async {
        for _ in 0..20 {
            wake().await;
            own().await;
        }
    });
    // The output comes back to a thread that waits, many times.
    for number in 0..20 {
        assert_eq!(run(&config(2), async move { number * 2 }), number * 2);
    }
}
