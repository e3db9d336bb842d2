//! Tasks and virtual time.

use bertha_core::Runtime;
use bertha_datapath_sim::{HaltReason, Schedule, Sim, SimRuntime};
use futures_util::future::{join, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Gives all other tasks a turn.
async fn step() {
    let mut stepped = false;
    poll_fn(|context| {
        if std::mem::replace(&mut stepped, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn time_jumps_to_the_next_timer() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    let start = runtime.now();
    let order = sim.run(async {
        let order = Mutex::new(Vec::new());
        let sleep = async |seconds| {
            runtime.sleep(Duration::from_secs(seconds)).await;
            order.lock().unwrap().push((seconds, runtime.now() - start));
        };
        join(sleep(3000), join(sleep(1), sleep(20))).await;
        order.into_inner().unwrap()
    });
    let seconds = |n| (n, Duration::from_secs(n));
    assert_eq!(order, [seconds(1), seconds(20), seconds(3000)]);
}

#[test]
fn a_dropped_timer_does_not_move_time() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let mut long = Box::pin(runtime.sleep(Duration::from_secs(3000)));
        assert!(futures_util::poll!(&mut long).is_pending());
        drop(long);
        runtime.sleep(Duration::from_secs(1)).await;
        assert_eq!(runtime.elapsed(), Duration::from_secs(1));
    });
    let halt = sim.try_run(pending::<()>()).unwrap_err();
    assert_eq!(halt.reason(), HaltReason::Deadlock);
    assert_eq!(runtime.elapsed(), Duration::from_secs(1));
}

#[test]
fn a_deadlock_is_reported_with_its_seed() {
    let halt = Sim::new(7001).try_run(pending::<()>()).unwrap_err();
    assert_eq!((halt.reason(), halt.seed()), (HaltReason::Deadlock, 7001));
    let text = catch_unwind(AssertUnwindSafe(|| Sim::new(7001).run(pending::<()>()))).unwrap_err();
    let text = text.downcast_ref::<String>().unwrap();
    assert!(text.contains("seed 7001") && text.contains("deadlock"), "{text}");
}

#[test]
fn time_and_steps_are_bounded() {
    let mut sim = Sim::new(1).time_limit(HOUR);
    let runtime = sim.runtime();
    let halt = sim.try_run(runtime.sleep(HOUR + Duration::from_nanos(1))).unwrap_err();
    assert_eq!(halt.reason(), HaltReason::TimeLimit);
    assert!(sim.try_run(runtime.sleep(HOUR)).is_ok());

    let mut sim = Sim::new(1).step_limit(100);
    let forever = async {
        loop {
            step().await;
        }
    };
    let halt: Result<(), _> = sim.try_run(forever);
    assert_eq!(halt.unwrap_err().reason(), HaltReason::StepLimit);
}

/// Returns the order in which ten ready tasks finish.
fn order(sim: &mut Sim) -> Vec<usize> {
    let runtime = sim.runtime();
    let order = Arc::new(Mutex::new(Vec::new()));
    sim.run(async {
        let tasks: Vec<_> = (0..10)
            .map(|number| {
                let order = order.clone();
                runtime.spawn(async move {
                    step().await;
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        runtime.sleep(Duration::from_secs(1)).await;
        drop(tasks);
    });
    std::mem::take(&mut *order.lock().unwrap())
}

#[test]
fn ready_tasks_run_in_an_order_that_the_seed_decides() {
    let in_turn: Vec<_> = (0..10).collect();
    assert_eq!(order(&mut Sim::new(1).schedule(Schedule::Fifo)), in_turn);
    let drawn = order(&mut Sim::new(1));
    assert_ne!(drawn, in_turn);
    assert_eq!(drawn, order(&mut Sim::new(1)));
    assert_ne!(drawn, order(&mut Sim::new(2)));
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn sleeper(runtime: &SimRuntime) -> (Arc<AtomicBool>, impl Future<Output = ()> + Send + 'static) {
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = SetOnDrop(dropped.clone());
    let sleep = runtime.sleep(HOUR);
    (dropped, async move {
        sleep.await;
        drop(guard);
    })
}

#[test]
fn dropping_the_handle_ends_the_task() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let (dropped, task) = sleeper(&runtime);
        let task = runtime.spawn(task);
        runtime.sleep(Duration::from_secs(1)).await;
        assert!(!dropped.load(Ordering::Relaxed));
        drop(task);
        assert!(dropped.load(Ordering::Relaxed));
    });
}

#[test]
fn a_task_may_drop_its_own_handle() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    let steps = Arc::new(AtomicUsize::new(0));
    sim.run(async {
        let own = Arc::new(Mutex::new(None));
        let task = runtime.spawn({
            let (own, steps) = (own.clone(), steps.clone());
            async move {
                own.lock().unwrap().take();
                steps.fetch_add(1, Ordering::Relaxed);
                step().await;
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
        *own.lock().unwrap() = Some(task);
        runtime.sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(steps.load(Ordering::Relaxed), 1);
}

#[test]
fn tasks_end_with_their_run_and_the_world_with_its_simulation() {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    let (dropped, task) = sleeper(&runtime);
    let task = sim.run(async { runtime.spawn(task) });
    assert!(dropped.load(Ordering::Relaxed));
    drop(task);

    let (dropped, task) = sleeper(&runtime);
    drop(sim);
    let _task = runtime.spawn(task);
    assert!(dropped.load(Ordering::Relaxed));
}

#[test]
fn randomness_follows_the_seed() {
    let draw = |seed| {
        let runtime = Sim::new(seed).runtime();
        [runtime.random(), runtime.random()]
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert_ne!(draw(1)[0], draw(1)[1]);
}
