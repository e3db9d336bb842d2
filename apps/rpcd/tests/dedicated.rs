//! Services with a thread of their own. What holds for others holds for them: the tests of other files run here with the hotel on one.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "engines/balance.rs"]
mod balance;
#[path = "applications/calls.rs"]
mod calls;
mod from_address;
mod hotel;
#[path = "machines/calls.rs"]
mod machines;
#[path = "engines/numbered.rs"]
mod numbered;
#[path = "engines/policies.rs"]
mod policies;
mod stranger;

use bertha_managed::{Binding, Burst, Engine, EngineKind, Parts, Unsuitable};
use bertha_rpcd::{Change, Peers, Route, Settings};
use hotel::{Empty, Hotel, Ping, Running, serve};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{fs, iter};

const SOON: Duration = Duration::from_secs(20);

/// Returns the threads of this process that have a name.
fn threads(name: &str) -> Vec<PathBuf> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    // A thread may have ended meanwhile.
    let is_named = |task: &PathBuf| {
        fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end_matches('\n') == name)
    };
    tasks.filter(is_named).collect()
}

/// Returns the processor time of a thread, in nanoseconds.
fn time_of(thread: &Path) -> u64 {
    let times = fs::read_to_string(thread.join("schedstat")).unwrap();
    times.split_whitespace().next().unwrap().parse().unwrap()
}

fn dedicated(service: &str, peers: Peers) -> Running {
    Running::with(Settings { dedicated: vec![service.into()], peers, ..Settings::default() })
}

async fn ping(daemon: &Running, service: &str, times: usize) {
    let client = daemon.attach().client::<Hotel>(service).await.unwrap();
    for _ in 0..times {
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
}

#[tokio::test]
async fn calls_take_the_time_of_the_thread_of_their_service_which_begins_with_its_first_party() {
    let daemon = dedicated("used", Peers::default());
    let _other = serve(daemon.attach().server("other").await.unwrap());
    ping(&daemon, "other", 1).await;
    assert_eq!(threads("rpcd-used"), [""; 0].map(PathBuf::from));
    let _serving = serve(daemon.attach().server("used").await.unwrap());
    ping(&daemon, "used", 1).await;
    let [own] = &threads("rpcd-used")[..] else { panic!("one thread") };
    let spent = async |service: &str| {
        let before = [time_of(own), time_of(&daemon.task)];
        ping(&daemon, service, 2000).await;
        [time_of(own) - before[0], time_of(&daemon.task) - before[1]]
    };
    let [owns, shared] = spent("used").await;
    assert!(owns > 10 * shared, "{owns} ns of its thread, {shared} ns of that of all");
    let [owns, shared] = spent("other").await;
    assert!(shared > 10 * owns, "{owns} ns of its thread, {shared} ns of that of all");
    assert_eq!(threads("rpcd-used").len(), 1);
    drop(daemon);
    // A thread has its name for some time after its work has ended.
    let ends = async {
        while !threads("rpcd-used").is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, ends).await.unwrap();
}

#[tokio::test]
async fn calls_from_another_machine_and_to_it_take_the_time_of_the_thread_of_their_service() {
    let far = dedicated("far", Peers { listen: Some("127.0.0.1:0".parse().unwrap()), ..Peers::default() });
    let routes = iter::once(("far".into(), Route::Daemon(far.peer_addr.clone().unwrap()).into())).collect();
    let near = dedicated("far", Peers { routes, ..Peers::default() });
    let _serving = serve(far.attach().server("far").await.unwrap());
    ping(&near, "far", 1).await;
    let own = threads("rpcd-far");
    assert_eq!(own.len(), 2);
    let times = || own.iter().map(|thread| time_of(thread)).collect::<Vec<_>>();
    let (before, at_near) = (times(), time_of(&near.task));
    ping(&near, "far", 2000).await;
    let spent: Vec<_> = times().iter().zip(&before).map(|(after, before)| after - before).collect();
    let shared = time_of(&near.task) - at_near;
    assert!(
        spent.iter().all(|own| *own > 10 * shared),
        "{spent:?} ns of their threads, {shared} ns of another"
    );
}

/// An engine that works on a burst until it is let go.
#[derive(Debug, Clone)]
struct HeldUp {
    begun: mpsc::Sender<()>,
    let_go: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl EngineKind for HeldUp {
    fn name(&self) -> &str {
        "held-up"
    }

    fn make(&self, _: bertha_managed::Settings, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        Ok(Box::new(self.clone()))
    }

    fn restore(&self, _: &mut Parts, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        Ok(Box::new(self.clone()))
    }
}

impl Engine for HeldUp {
    fn requests(&mut self, burst: &mut Burst, _: Duration) {
        if !burst.is_empty() {
            self.begun.send(()).unwrap();
            // The end of the test lets it go, too.
            let _let_go = self.let_go.lock().recv();
        }
    }

    fn responses(&mut self, _: &mut Burst, _: Duration) {}

    fn configure(&mut self, _: bertha_managed::Settings) -> Result<(), Unsuitable> {
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        Parts::default()
    }
}

/// An application comes before the threads of all services are held up: they take newcomers.
#[tokio::test]
async fn calls_go_on_while_the_threads_of_other_services_are_held_up() {
    let daemon = dedicated("free", Peers::default());
    let _serving = serve(daemon.attach().server("free").await.unwrap());
    let _other = serve(daemon.attach().server("held").await.unwrap());
    let client = daemon.attach().client::<Hotel>("free").await.unwrap();
    let ((begin, begun), (let_go, wait)) = (mpsc::channel(), mpsc::channel());
    let kind = Arc::new(HeldUp { begun: begin, let_go: Arc::new(Mutex::new(wait)) });
    let add = Change::Add { name: "held-up".into(), kind, settings: "".parse().unwrap() };
    daemon.operator.change("held", &add).unwrap();
    let held = daemon.attach().client::<Hotel>("held").await.unwrap();
    let held = tokio::spawn(async move { held.call::<Ping>(Empty {}, Some(SOON)).await });
    tokio::task::spawn_blocking(move || begun.recv()).await.unwrap().unwrap();
    for _ in 0..100 {
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
    assert!(!held.is_finished());
    let_go.send(()).unwrap();
    held.await.unwrap().unwrap();
}
