use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot};

const SOON: Duration = Duration::from_millis(3);
const NEVER: Duration = Duration::from_secs(3600);

/// Returns a timer that no other test uses.
fn timer() -> &'static Timer {
    Box::leak(Box::new(Timer::new()))
}

fn held(timer: &Timer) -> usize {
    let state = timer.state();
    state.queue.len() + state.begun.len()
}

/// A task that is cancelled when this handle is dropped.
struct Task(&'static Timer, DelayKey);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.cancel(self.1);
    }
}

fn begin(timer: &'static Timer, pause: Duration, task: impl Future<Output = ()> + Send + 'static) -> Task {
    begin_at(timer, Instant::now() + pause, task)
}

fn begin_at(timer: &'static Timer, at: Instant, task: impl Future<Output = ()> + Send + 'static) -> Task {
    let begun = timer.begin_at(at, Box::pin(task));
    Task(timer, begun.unwrap_or_else(|_| panic!("no thread")))
}

fn build() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[tokio::test]
async fn tasks_begin_in_their_order_and_not_before_their_time() {
    // The deadline is late enough that all tasks are registered before the first task begins.
    let (timer, start) = (timer(), Instant::now() + Duration::from_secs(1));
    let (said, mut heard) = mpsc::unbounded_channel();
    let tasks: Vec<_> = [3, 1, 2, 0, 1]
        .map(|number| {
            let (said, pause) = (said.clone(), number * SOON);
            begin_at(timer, start + pause, async move {
                assert!(Instant::now() >= start + pause);
                said.send(number).unwrap();
            })
        })
        .into();
    let mut order = Vec::new();
    while order.len() < 5 {
        order.push(heard.recv().await.unwrap());
    }
    assert_eq!(order, [0, 1, 1, 2, 3]);
    drop(tasks);
    assert_eq!(held(timer), 0);
}

#[tokio::test]
async fn a_task_that_is_cancelled_before_its_time_is_dropped_at_once_and_leaves_nothing() {
    let (timer, alive, begun) = (timer(), Arc::new(()), Arc::new(AtomicBool::new(false)));
    for _ in 0..10_000 {
        let (alive, begun) = (alive.clone(), begun.clone());
        let task = begin(timer, NEVER, async move {
            begun.store(true, Ordering::Relaxed);
            drop(alive);
        });
        drop(task);
    }
    assert_eq!((Arc::strong_count(&alive), held(timer)), (1, 0));
    drop(begin(timer, SOON, std::future::pending()));
    tokio::time::sleep(2 * SOON).await;
    assert!(!begun.load(Ordering::Relaxed) && held(timer) == 0);
}

#[tokio::test]
async fn a_task_that_has_begun_ends_with_its_handle() {
    let timer = timer();
    let (began, has_begun) = oneshot::channel();
    let (kept, dropped) = oneshot::channel::<()>();
    let task = begin(timer, SOON, async move {
        began.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(kept);
    });
    has_begun.await.unwrap();
    drop(task);
    assert!(dropped.await.is_err() && held(timer) == 0);
}

#[tokio::test]
async fn an_entry_that_is_due_before_all_others_is_not_late() {
    let timer = timer();
    let _last = begin(timer, NEVER, std::future::pending());
    // The thread now sleeps until the deadline.
    tokio::time::sleep(SOON).await;
    let (began, has_begun) = oneshot::channel();
    let _first = begin(timer, SOON, async { began.send(()).unwrap() });
    has_begun.await.unwrap();
    DistantSleep::new(timer, Instant::now() + SOON).await;
}

#[test]
fn a_task_begins_on_the_runtime_of_its_caller() {
    let (timer, first, second) = (timer(), build(), build());
    let enter = || async {
        let (began, has_begun) = oneshot::channel();
        let own = Handle::current().id();
        let task = begin(timer, SOON, async move { began.send(Handle::current().id() == own).unwrap() });
        (task, has_begun)
    };
    let (_task, later) = first.block_on(enter());
    second.block_on(async {
        let (_task, has_begun) = enter().await;
        assert!(has_begun.await.unwrap());
    });
    assert!(first.block_on(later).unwrap());
}

#[tokio::test]
async fn a_task_that_is_due_already_begins() {
    let (began, has_begun) = oneshot::channel();
    let _task = begin(timer(), Duration::ZERO, async { began.send(()).unwrap() });
    has_begun.await.unwrap();
}

#[tokio::test]
async fn a_task_may_own_others() {
    let timer = timer();
    let inner = begin(timer, NEVER, std::future::pending());
    let outer = begin(timer, NEVER, async move { drop(inner) });
    drop(outer);
    assert_eq!(held(timer), 0);
}

#[tokio::test]
async fn a_sleep_that_is_given_up_leaves_nothing() {
    let timer = timer();
    let mut sleep = std::pin::pin!(DistantSleep::new(timer, Instant::now() + NEVER));
    for _ in 0..3 {
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(held(timer), 1);
    }
    sleep.set(DistantSleep::new(timer, Instant::now()));
    assert_eq!(held(timer), 0);
    sleep.await;
}

#[test]
fn a_runtime_that_has_ended_drops_what_was_to_begin_on_it() {
    let (timer, runtime) = (timer(), build());
    let (kept, dropped) = oneshot::channel::<()>();
    let task = runtime.block_on(async {
        begin(timer, SOON, async move {
            std::future::pending::<()>().await;
            drop(kept);
        })
    });
    drop(runtime);
    assert!(build().block_on(dropped).is_err());
    drop(task);
}

#[test]
fn a_task_of_a_thread_that_has_ended_begins() {
    let (timer, runtime) = (timer(), build());
    let (began, has_begun) = oneshot::channel();
    let handle = runtime.handle().clone();
    let thread = std::thread::spawn(move || {
        let _entered = handle.enter();
        begin(timer, SOON, async { began.send(()).unwrap() })
    });
    let _task = thread.join().unwrap();
    runtime.block_on(has_begun).unwrap();
}

#[tokio::test]
async fn the_thread_ends_when_nothing_waits_and_another_is_started() {
    let timer = timer();
    for _ in 0..2 {
        DistantSleep::new(timer, Instant::now() + SOON).await;
        assert!(timer.state().is_running);
        while timer.state().is_running {
            tokio::time::sleep(SOON).await;
        }
    }
}
