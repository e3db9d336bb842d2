use super::*;
use crate::TokioRuntime;
use bertha_core::Runtime;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const SOON: Duration = Duration::from_millis(3);
const NEVER: Duration = Duration::from_secs(3600);

fn build() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn held() -> usize {
    let agenda = Agenda::current();
    let plan = agenda.plan();
    plan.later.len() + plan.begun.len()
}

#[tokio::test]
async fn tasks_begin_in_their_order_and_not_before_their_time() {
    let start = TokioRuntime.now();
    let (said, mut heard) = mpsc::unbounded_channel();
    let tasks: Vec<_> = [3, 1, 2, 0, 1]
        .map(|place| {
            let (said, at) = (said.clone(), start + place * SOON);
            TokioRuntime.spawn_at(at, async move {
                assert!(TokioRuntime.now() >= at);
                said.send(place).unwrap();
            })
        })
        .into();
    let mut order = Vec::new();
    while order.len() < 5 {
        order.push(heard.recv().await.unwrap());
    }
    assert_eq!(order, [0, 1, 1, 2, 3]);
    drop(tasks);
    assert_eq!(held(), 0);
}

#[tokio::test]
async fn what_is_struck_out_before_its_time_is_dropped_at_once_and_leaves_nothing() {
    let (alive, begun) = (Arc::new(()), Arc::new(AtomicBool::new(false)));
    for _ in 0..10_000 {
        let (alive, begun) = (alive.clone(), begun.clone());
        let task = TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, async move {
            begun.store(true, Ordering::Relaxed);
            drop(alive);
        });
        drop(task);
    }
    assert_eq!((Arc::strong_count(&alive), held()), (1, 0));
    let task = TokioRuntime.spawn_at(TokioRuntime.now() + SOON, std::future::pending());
    drop(task);
    tokio::time::sleep(2 * SOON).await;
    assert!(!begun.load(Ordering::Relaxed) && held() == 0);
}

#[tokio::test]
async fn what_has_begun_ends_with_its_handle() {
    let (began, has_begun) = oneshot::channel();
    let (kept, dropped) = oneshot::channel::<()>();
    let task = TokioRuntime.spawn_at(TokioRuntime.now() + SOON, async move {
        began.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(kept);
    });
    has_begun.await.unwrap();
    drop(task);
    assert!(dropped.await.is_err() && held() == 0);
}

#[tokio::test]
async fn what_is_due_before_all_others_is_not_late() {
    let _last = TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, std::future::pending());
    // Now the agenda's task sleeps until then.
    tokio::time::sleep(SOON).await;
    let (began, has_begun) = oneshot::channel();
    let _first = TokioRuntime.spawn_at(TokioRuntime.now() + SOON, async { began.send(()).unwrap() });
    has_begun.await.unwrap();
}

#[test]
fn runtimes_of_one_thread_have_their_own() {
    let (first, second) = (build(), build());
    let enter = || async {
        let (began, has_begun) = oneshot::channel();
        let task = TokioRuntime.spawn_at(TokioRuntime.now() + SOON, async { began.send(()).unwrap() });
        (task, has_begun)
    };
    let (_task, later) = first.block_on(enter());
    second.block_on(async {
        let (_task, has_begun) = enter().await;
        has_begun.await.unwrap();
    });
    first.block_on(later).unwrap();
}

#[tokio::test]
async fn what_is_due_already_begins() {
    let (began, has_begun) = oneshot::channel();
    let _task = TokioRuntime.spawn_at(TokioRuntime.now(), async { began.send(()).unwrap() });
    has_begun.await.unwrap();
}

#[tokio::test]
async fn a_task_may_own_others() {
    let inner = TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, std::future::pending());
    let outer = TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, async move { drop(inner) });
    drop(outer);
    assert_eq!(held(), 0);
}

/// How many tasks a runtime has, once those that are over have ended.
fn tasks_of(runtime: &tokio::runtime::Runtime) -> usize {
    runtime.block_on(async { tokio::time::sleep(SOON).await });
    runtime.metrics().num_alive_tasks()
}

#[test]
fn threads_that_end_leave_nothing_behind() {
    let runtime = build();
    for _ in 0..100 {
        let handle = runtime.handle().clone();
        let thread = std::thread::spawn(move || {
            let _entered = handle.enter();
            drop(TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, std::future::pending()));
        });
        thread.join().unwrap();
    }
    assert_eq!(tasks_of(&runtime), 0);
}

#[test]
fn a_thread_that_goes_from_runtime_to_runtime_leaves_nothing_behind() {
    let runtimes = [build(), build()];
    for _ in 0..100 {
        for runtime in &runtimes {
            let _entered = runtime.enter();
            drop(TokioRuntime.spawn_at(TokioRuntime.now() + NEVER, std::future::pending()));
        }
    }
    assert!(runtimes.iter().all(|runtime| tasks_of(runtime) <= 1));
}

#[test]
fn what_a_thread_that_has_ended_was_to_begin_begins() {
    let runtime = build();
    let (began, has_begun) = oneshot::channel();
    let handle = runtime.handle().clone();
    let thread = std::thread::spawn(move || {
        let _entered = handle.enter();
        TokioRuntime.spawn_at(TokioRuntime.now() + SOON, async { began.send(()).unwrap() })
    });
    let _task = thread.join().unwrap();
    runtime.block_on(has_begun).unwrap();
}
