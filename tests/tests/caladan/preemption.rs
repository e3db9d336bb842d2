//! Polls are not preempted.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_core::Runtime;
use bertha_datapath_caladan::CaladanRuntime;
use std::cell::Cell;
use std::future::poll_fn;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

thread_local! {
    /// True if a poll is under way on this kernel thread.
    static POLLING: Cell<bool> = const { Cell::new(false) };
}

#[derive(Default)]
struct Seen {
    polls: AtomicUsize,
    /// Number of polls that began on a kernel thread during another poll.
    torn: AtomicUsize,
}

/// Number of polls. Where polls are preempted, some hundred of them are torn.
const POLLS: usize = 3000;

/// Makes polls of 100 us, which Caladan interrupts under the policy `ias`.
async fn burn(seen: Arc<Seen>) {
    while seen.polls.load(Ordering::Relaxed) < POLLS {
        if POLLING.replace(true) {
            seen.torn.fetch_add(1, Ordering::Relaxed);
        }
        let until = Instant::now() + Duration::from_micros(100);
        while Instant::now() < until {
            // The allocator has locks and thread-local variables of its own.
            black_box(vec![0_u8; 300]);
        }
        POLLING.set(false);
        seen.polls.fetch_add(1, Ordering::Relaxed);
        let mut once = false;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut once, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[test]
fn thread_local_variables_are_a_polls_own() {
    run_beside("preemption::inside", "ias", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if !is_beside() {
        return;
    }
    let (polls, torn) = run(&config(2), async {
        let seen = Arc::<Seen>::default();
        let tasks: Vec<_> = (0..8).map(|_| CaladanRuntime.spawn(burn(seen.clone()))).collect();
        while seen.polls.load(Ordering::Relaxed) < POLLS {
            CaladanRuntime.sleep_until(CaladanRuntime.now() + Duration::from_millis(5)).await;
        }
        drop(tasks);
        (seen.polls.load(Ordering::Relaxed), seen.torn.load(Ordering::Relaxed))
    });
    println!("{polls} polls, {torn} torn");
    assert_eq!(torn, 0, "of {polls} polls");
}
