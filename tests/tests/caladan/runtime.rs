//! Tasks and time.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_core::{Addr, Datapath, ErrorKind, Runtime};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Config};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts its drops.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn count(counter: &Arc<AtomicUsize>) -> usize {
    counter.load(Ordering::Relaxed)
}

async fn pause(milliseconds: u64) {
    CaladanRuntime.sleep_until(CaladanRuntime.now() + Duration::from_millis(milliseconds)).await;
}

/// Waits until `done` returns true.
async fn until(what: &str, done: impl Fn() -> bool + Send) {
    // An emulated machine takes a hundred times as long as this one.
    let end = Instant::now() + Duration::from_secs(200);
    while !done() {
        assert!(Instant::now() < end, "{what} did not happen");
        pause(2).await;
    }
}

/// Starts many tasks that sleep, half of which never end by themselves.
async fn many_tasks_sleep_and_end() {
    const TASKS: usize = 3000;
    let (slept, dropped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let (slept, guard) = (slept.clone(), Dropped(dropped.clone()));
            CaladanRuntime.spawn(async move {
                let _guard = guard;
                for round in 0..5 {
                    let begin = Instant::now();
                    let duration = Duration::from_micros((number * 37 + round * 101) as u64 % 3000);
                    CaladanRuntime.sleep_until(begin + duration).await;
                    assert!(begin.elapsed() >= duration, "woken early");
                }
                slept.fetch_add(1, Ordering::Relaxed);
                if number % 2 == 0 {
                    pending::<()>().await;
                }
            })
        })
        .collect();
    until("every task's sleep", || count(&slept) == TASKS).await;
    until("the end of half of the tasks", || count(&dropped) == TASKS / 2).await;
    drop(tasks);
    until("the end of the aborted tasks", || count(&dropped) == TASKS).await;
}

/// Delayed tasks begin at their time, or never if their handle was dropped.
async fn later_tasks_begin_unless_dropped() {
    let begun = Arc::<AtomicUsize>::default();
    let begin = CaladanRuntime.now();
    let later = |after| {
        let begun = begun.clone();
        CaladanRuntime.spawn_at(begin + Duration::from_millis(after), async move {
            assert!(begin.elapsed() >= Duration::from_millis(after));
            begun.fetch_add(1, Ordering::Relaxed);
        })
    };
    let (kept, dropped) = (later(20), later(30));
    drop(dropped);
    until("the task that was kept", || count(&begun) == 1).await;
    pause(50).await;
    assert_eq!(count(&begun), 1, "a dropped task ran");
    drop(kept);
}

/// A panic ends its task alone.
async fn a_panic_is_the_tasks_own() {
    let dropped = Arc::<AtomicUsize>::default();
    let guard = Dropped(dropped.clone());
    let task = CaladanRuntime.spawn(async move {
        let _guard = guard;
        pause(1).await;
        panic!("as intended");
    });
    until("the end of the task", || count(&dropped) == 1).await;
    drop(task);
}

#[test]
fn tasks_sleep_end_and_panic() {
    run_beside("runtime::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if !is_beside() {
        return;
    }
    let config = config(2);
    run(&config, many_tasks_sleep_and_end());
    run(&config, later_tasks_begin_unless_dropped());
    run(&config, a_panic_is_the_tasks_own());
    let other = bertha_datapath_caladan::run(&Config { tasks: 17, ..config.clone() }, async {});
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Invalid, "other settings");
    let nested = run(&config, async { bertha_datapath_caladan::run(&self::config(2), async {}) });
    assert_eq!(nested.unwrap_err().kind(), ErrorKind::Invalid, "run within a task");
}

#[test]
fn too_many_tasks_are_refused() {
    run_beside("runtime::inside_with_few_tasks", "simple", &[]);
}

/// Starts a hundred thousand tasks where a thousand are permitted. The other tasks are dropped, new
/// connections are refused, and the runtime works again afterwards.
async fn a_hundred_thousand() {
    let peer: Addr = "10.77.0.1:9".parse().unwrap();
    let (dropped, begun) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let tasks: Vec<_> = (0..100_000)
        .map(|_| {
            let (guard, begun) = (Dropped(dropped.clone()), begun.clone());
            CaladanRuntime.spawn(async move {
                let _guard = guard;
                begun.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
            })
        })
        .collect();
    until("the tasks that have a place", || count(&begun) == 999).await;
    assert_eq!(count(&dropped), 99_001);
    let error = Caladan::new().connect(peer.clone()).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Exhausted && error.context().contains("BERTHA_CALADAN_TASKS"),
        "{error}"
    );
    drop(tasks);
    until("the end of all", || count(&dropped) == 100_000).await;
    Caladan::new().connect(peer).await.unwrap();
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside_with_few_tasks() {
    if is_beside() {
        run(&Config { tasks: 1000, ..config(2) }, a_hundred_thousand());
    }
}

#[test]
fn without_a_scheduler_the_start_fails_cleanly() {
    let config = config(1);
    if is_beside() {
        return;
    }
    for _ in 0..2 {
        let error = bertha_datapath_caladan::run(&config, async {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.context().contains("scripts/caladan"), "{error}");
    }
    assert_eq!(
        bertha_datapath_caladan::run(&Config::default(), async {}).unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

/// The scheduler is killed: the runtime stands still, and the program hears of it.
#[test]
fn the_end_of_the_scheduler_is_heard_of() {
    run_beside("runtime::inside_with_a_scheduler_that_ends", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside_with_a_scheduler_that_ends() {
    if !is_beside() {
        return;
    }
    run(&config(2), pause(10));
    let scheduler = std::fs::read_to_string("/run/scheduler.pid").unwrap();
    let kill = std::process::Command::new("kill").args(["-9", scheduler.trim()]).status();
    assert!(kill.unwrap().success());
    let error = bertha_datapath_caladan::run(&config(2), pending::<()>()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.context().contains("scheduler"), "{error}");
}
