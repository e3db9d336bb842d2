//! Applications that are killed at any moment.

use super::super::*;
use super::application::{self, AT_ONCE};
use super::held::Held;
use super::ledger::Ledger;
use bertha_tests::with_seeds;
use parking_lot::Mutex;
use std::io::{BufRead, BufReader};
use std::pin::pin;
use tokio::runtime::Handle;

/// The applications that live, and what is known of calls.
struct Honest {
    client: Client<Hotel>,
    ledger: Arc<Mutex<Ledger>>,
    numbers: AtomicU64,
}

/// Each call from and to applications that die has one outcome, which is true, and when all have gone, the daemon holds what it did before.
#[tokio::test(flavor = "multi_thread")]
async fn applications_that_are_killed_leave_nothing() {
    let daemon = Process::start(&[]);
    let pid = daemon.child.id().to_string();
    // What is made once is made before the first look.
    play_all(&daemon.path, |play| play(0)).await;
    let (before, memory) = (Held::at_rest(&pid), daemon.memory());
    let answered = play_all(&daemon.path, |play| with_seeds(40, play)).await;
    before.comes_again(&pid);
    println!("{answered} calls were answered; memory {memory} -> {} KiB", daemon.memory());
    assert!(answered > 0 && daemon.memory() < memory + (16 << 10));
}

/// Attaches a server, and a client of those who are killed, and kills one for each seed. Returns the number of calls that were answered.
async fn play_all(path: &Path, seeds: impl FnOnce(&mut dyn FnMut(u64)) + Send + 'static) -> usize {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let attach = Attach::new(path, "honest");
    let server = attach.server("honest").await.unwrap();
    let serving = tokio::spawn(server.serve(application::Answering(tell(&ledger))));
    let client = attach.client("doomed").await.unwrap();
    let honest = Arc::new(Honest { client, ledger, numbers: AtomicU64::new(0) });
    let (path, runtime) = (path.to_owned(), Handle::current());
    let play = move || {
        let mut answered = 0;
        seeds(&mut |seed| answered += runtime.block_on(kill(&path, &honest, seed)));
        answered
    };
    let answered = tokio::task::spawn_blocking(play).await.unwrap();
    serving.abort();
    answered
}

/// Starts an application amid calls, and kills it. Runs on a thread that may wait.
async fn kill(path: &Path, honest: &Arc<Honest>, seed: u64) -> usize {
    let mut random = Random(seed);
    let mut child = application::start(path, "doomed", "honest");
    let output = BufReader::new(child.stdout.take().unwrap());
    let (attached, attaches) = std::sync::mpsc::channel();
    let note = tell(&honest.ledger);
    let reading = tokio::task::spawn_blocking(move || {
        for line in output.lines().map(Result::unwrap) {
            if line == "attached" {
                // A seed may not wait for it.
                let _heard = attached.send(());
            }
            note(line);
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let calling = (0..AT_ONCE).map(|_| {
        let (honest, stop) = (Arc::clone(honest), Arc::clone(&stop));
        tokio::spawn(async move {
            application::call(&honest.client, &honest.numbers, &stop, &tell(&honest.ledger)).await;
        })
    });
    let calling: Vec<_> = calling.collect();
    // Half of the applications die while they attach, and half amid calls.
    let most = if random.below(2) == 0 { 60_000 } else { 15_000 };
    if most < 60_000 {
        attaches.recv_timeout(SOON).unwrap();
    }
    tokio::time::sleep(Duration::from_micros(random.below(most))).await;
    child.kill().unwrap();
    reading.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    for task in calling {
        task.await.unwrap();
    }
    child.wait().unwrap();
    // The calls of the parent have small numbers.
    honest.ledger.lock().check(|number| number >= application::first_number(1))
}

/// Returns what notes lines.
fn tell(ledger: &Arc<Mutex<Ledger>>) -> impl application::Tell + Sync {
    let ledger = Arc::clone(ledger);
    move |line| ledger.lock().note(&line)
}

/// A server that dies before it shares its queue has heard of no call, and the calls that it was given end.
#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_server_that_dies_while_it_attaches_end() {
    let daemon = Process::start(&[]);
    let mut control = UnixStream::connect(&daemon.path).unwrap();
    let hello = hello(Role::Server, "hotel", Hotel::descriptors());
    control.write_all(&hello.to_bytes().unwrap()).unwrap();
    let queue = hear(&control).unwrap();
    assert!(matches!(queue, (Answer::Taken, Some(_))));
    let client = client(&daemon.path).await;
    let mut calling = pin!(client.call::<Ping>(Empty {}, None));
    // The server is given the call, and says nothing.
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut calling).await.is_err());
    drop((control, queue));
    let failure = tokio::time::timeout(SOON, calling).await.unwrap().unwrap_err();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false));
}
