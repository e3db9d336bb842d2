//! An application that serves and calls all the time, and attaches again when its daemon has died.

use super::super::*;
use super::held::Held;
use super::ledger;
use bertha_managed::application::Incoming;
use bertha_managed::heap::{self, Heap};

/// Takes the lines that tell of calls.
pub(super) trait Tell: Fn(String) + Clone + Send + 'static {}

impl<T: Fn(String) + Clone + Send + 'static> Tell for T {}

/// Number of calls at once.
pub(super) const AT_ONCE: u64 = 4;

/// Serves a service until the daemon ends.
pub(super) async fn serve(mut server: Server<Hotel>, tell: impl Tell) {
    while let Ok(call) = server.next().await {
        answer(call, &tell).await;
    }
}

/// Answers a call with the name of its guest.
async fn answer(mut call: Incoming<Hotel>, tell: &impl Tell) {
    let Some(request) = call.request::<Reserve>() else { return };
    tell(format!("ran {}", request.customer.as_str()));
    let Some(room) = text(call.heap(), request.guests[0].as_str()) else { return };
    let response = hotel::Response { room, price: request.nights };
    drop(request);
    // A daemon that has died is told by the next call.
    let _told = call.respond::<Reserve>(response).await;
}

/// Makes calls one after another until told to stop, or until the daemon ends. Their numbers begin with the first.
pub(super) async fn call(client: &Client<Hotel>, numbers: &AtomicU64, stop: &AtomicBool, tell: &impl Tell) {
    while !stop.load(Ordering::Relaxed) {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let mut random = Random(number);
        let length = if random.below(8) == 0 { 1 << 20 } else { 1 << random.below(14) };
        let guest = "x".repeat(length);
        // The heap of a daemon that has died does not grow.
        let Some(asked) = asked(client.heap(), number, &guest) else { return };
        tell(format!("made {number}"));
        let called = client.call::<Reserve>(asked, None);
        let outcome = tokio::time::timeout(SOON, called).await.expect("each call has an outcome");
        tell(ledger::ended(number, &outcome));
        match outcome {
            Ok(response) => assert!(response.room.as_str() == guest && response.price == 1),
            Err(failure) if failure.kind() == FailureKind::Disconnected => return,
            // A server that is not there yet.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

fn asked(heap: &Heap, number: u64, guest: &str) -> Option<hotel::Request> {
    let mut guests = heap::Vec::new_in(heap);
    guests.try_reserve(1).ok()?;
    guests.push(text(heap, guest)?);
    Some(hotel::Request { customer: text(heap, &number.to_string())?, nights: 1, guests })
}

fn text(heap: &Heap, text: &str) -> Option<heap::String> {
    let mut copy = heap::String::new_in(heap);
    copy.try_reserve(text.len()).ok()?;
    copy.push_str(text);
    Some(copy)
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
                    Ok(server) => serve(server, tell).await,
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
        .env("DEATH_PATH", path)
        .env("DEATH_SERVES", serves)
        .env("DEATH_CALLS", calls)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
