//! The task that notices requests of other threads soon.

use crate::bindings::inbox;
use crate::{CaladanRuntime, Task};
use bertha_core::Runtime;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Time after the last request during which the task looks for further requests without a pause.
const SPIN: Duration = Duration::from_micros(50);

/// The first and the longest pause after that time; the pauses double.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Number of existing [`Attention`] values, and the task that looks while there are any.
static ATTENDANTS: Mutex<(usize, Option<Task>)> = Mutex::new((0, None));

/// A value whose existence makes the runtime notice requests of other threads within a millisecond, and at
/// once while there are many.
#[derive(Debug)]
pub(super) struct Attention(());

impl Attention {
    pub(super) fn new() -> Self {
        let (count, task) = &mut *ATTENDANTS.lock();
        *count += 1;
        if task.is_none() {
            *task = Some(CaladanRuntime.spawn(attend()));
        }
        Self(())
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        let (count, task) = &mut *ATTENDANTS.lock();
        *count -= 1;
        let ended = if *count == 0 { task.take() } else { None };
        drop(ended);
    }
}

async fn attend() {
    let mut last = Instant::now();
    let mut pause = PAUSES[0];
    loop {
        let now = Instant::now();
        if inbox::serve() > 0 {
            (last, pause) = (now, PAUSES[0]);
        }
        if now < last + SPIN {
            let mut turned = false;
            poll_fn(|cx| {
                cx.waker().wake_by_ref();
                if std::mem::replace(&mut turned, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        } else {
            CaladanRuntime.sleep_until(now + pause).await;
            pause = (pause * 2).min(PAUSES[1]);
        }
    }
}
