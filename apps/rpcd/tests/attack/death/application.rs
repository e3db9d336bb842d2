//! An application that serves and calls all the time, and has no code for daemons that die.

use super::super::*;
use super::held::Held;
use super::ledger;
use bertha_managed::application::{Handle, Incoming};
use bertha_managed::heap;

/// Takes the lines that tell of calls.
pub(super) trait Tell: Fn(String) + Clone + Send + 'static {}

impl<T: Fn(String) + Clone + Send + 'static> Tell for T {}

/// Number of calls at once.
pub(super) const AT_ONCE: u64 = 4;

/// Answers calls with the name of their guest.
pub(super) struct Answering<T>(pub(super) T);

impl<T: Tell + Sync> Handle<Hotel> for Answering<T> {
    async fn handle(&self, mut call: Incoming<Hotel>) {
        let Some(request) = call.request::<Reserve>() else { return };
        self.0(format!("ran {}", request.customer.as_str()));
        let room = heap::String::from_str_in(request.guests[0].as_str(), call.heap());
        let response = hotel::Response { room, price: request.nights };
        drop(request);
        call.finish::<Reserve>(Ok(response)).await;
    }
}

/// Makes calls one after another until told to stop. Their numbers begin with the first.
pub(super) async fn call(client: &Client<Hotel>, numbers: &AtomicU64, stop: &AtomicBool, tell: &impl Tell) {
    while !stop.load(Ordering::Relaxed) {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let mut random = Random(number);
        let length = if random.below(8) == 0 { 1 << 20 } else { 1 << random.below(14) };
        let guest = "x".repeat(length);
        let asked = request(&client.heap(), &number.to_string(), 1, &[&guest]);
        tell(format!("made {number}"));
        let called = client.call::<Reserve>(asked, None);
        let outcome = tokio::time::timeout(SOON, called).await.expect("each call has an outcome");
        tell(ledger::ended(number, &outcome));
        match outcome {
            Ok(response) => assert!(response.room.as_str() == guest && response.price == 1),
            Err(failure) => {
                // A request that the end of a daemon came between, a daemon or a server that is not there yet, and one that has gone.
                let passing = [FailureKind::Disconnected, FailureKind::Unavailable, FailureKind::Failed];
                let is_old =
                    failure.kind() == FailureKind::Malformed && failure.text().contains("attachment");
                assert!(passing.contains(&failure.kind()) || is_old, "{failure}");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

/// Runs as a process of its own: serves one service, and calls another, until its standard input ends. Tells of it on the standard output.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part of the tests of kills"]
async fn process() {
    let Ok(path) = std::env::var("DEATH_PATH") else { return };
    let [serves, calls] = ["DEATH_SERVES", "DEATH_CALLS"].map(|name| std::env::var(name).unwrap());
    let before = Held::by("self");
    let tell = |line: String| std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
    let attach = Attach::new(&path, "application").within(SOON);
    let serving = tokio::spawn({
        let attach = attach.clone();
        async move {
            loop {
                // An earlier process of this service may have died a moment ago.
                match attach.server::<Hotel>(&serves).await {
                    Ok(server) => match server.serve(Answering(tell)).await {},
                    Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let numbers = Arc::new(AtomicU64::new(first_number(std::process::id())));
    let calling = (0..AT_ONCE).map(|_| {
        let (attach, calls) = (attach.clone(), calls.clone());
        let (stop, numbers) = (Arc::clone(&stop), Arc::clone(&numbers));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // The first daemon may die while it takes the application.
                let Ok(client) = attach.client::<Hotel>(&calls).await else { continue };
                tell("attached".into());
                call(&client, &numbers, &stop, &tell).await;
            }
        })
    });
    let calling: Vec<_> = calling.collect();
    let end = || std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    tokio::task::spawn_blocking(end).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    for task in calling {
        task.await.unwrap();
    }
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    before.comes_again("self");
    tell("left".into());
}

/// Returns the number of the first call of a process.
pub(super) fn first_number(process: u32) -> u64 {
    u64::from(process) << 32
}

/// Starts the process.
pub(super) fn start(path: &Path, serves: &str, calls: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "death::application::process", "--nocapture"])
        // With one thread, which is the default on one processor, the first line of the test would begin with its name.
        .arg("--test-threads=2")
        .env("DEATH_PATH", path)
        .env("DEATH_SERVES", serves)
        .env("DEATH_CALLS", calls)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
