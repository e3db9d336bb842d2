//! Applications that are attached again, without any code of their own, when their daemon has ended.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod hotel;

use bertha_managed::application::{Attach, Client, Handle, Incoming};
use bertha_managed::heap::{String as Text, Vec as Row};
use bertha_managed::{Failure, FailureKind, Method};
use bertha_rpcd::Change;
use futures_util::FutureExt;
use hotel::{Empty, Hotel, OtherHotel, Ping, Request, Reserve, Response, Running, request};
use std::collections::HashSet;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const SOON: Duration = Duration::from_secs(20);

/// The turn of a test: descriptors and mappings are counted, and those of another test would count.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Answers calls with the name of the customer.
struct Answering;

impl Handle<Hotel> for Answering {
    async fn handle(&self, mut call: Incoming<Hotel>) {
        if call.method() == Ping::NUMBER {
            return call.finish::<Ping>(Ok(Empty {})).await;
        }
        let Some(request) = call.request::<Reserve>() else { return };
        let room = Text::from_str_in(request.customer.as_str(), call.heap());
        let response = Response { room, price: request.nights };
        drop(request);
        call.finish::<Reserve>(Ok(response)).await;
    }
}

/// A link by which daemons are found, so that another can take the place of one at once.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    fn attach(&self) -> Attach {
        Attach::new(self.path(), "test")
    }

    /// Starts a daemon that is not at the place yet.
    fn daemon(&self, name: &str) -> Running {
        Running::at(self.folder.path().join(name), Default::default())
    }

    /// Puts a daemon in the place.
    fn lead_to(&self, daemon: &Running) {
        let link = self.folder.path().join("next");
        std::os::unix::fs::symlink(&daemon.path, &link).unwrap();
        std::fs::rename(link, self.path()).unwrap();
    }
}

/// Makes calls until one has the outcome that is wanted. Each failure before has to be one of a daemon or of a server that is not there.
async fn until<T>(client: &Client<Hotel>, wanted: impl Fn(Result<(), Failure>) -> Option<T>) -> T {
    let end = Instant::now() + SOON;
    loop {
        let outcome = client.call::<Ping>(Empty {}, Some(SOON)).await.map(drop);
        let told = format!("{outcome:?}");
        let kind = outcome.as_ref().err().map(Failure::kind);
        if let Some(found) = wanted(outcome) {
            return found;
        }
        assert!(matches!(kind, Some(FailureKind::Disconnected | FailureKind::Unavailable)), "{told}");
        assert!(Instant::now() < end, "{told}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn comes_back(client: &Client<Hotel>) {
    until(client, Result::ok).await;
}

#[tokio::test]
async fn the_end_of_the_daemon_fails_each_call_once_and_applications_attach_again() {
    let _turn = ALONE.lock().await;
    let place = Place::new();
    let daemon = place.daemon("first");
    place.lead_to(&daemon);
    let silent = place.attach().server::<Hotel>("hotel").await.unwrap();
    let client = place.attach().client::<Hotel>("hotel").await.unwrap();
    let (outcome, ()) = tokio::join!(client.call::<Ping>(Empty {}, None), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(daemon);
    });
    let failure = outcome.unwrap_err();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Disconnected, true));
    for _ in 0..3 {
        let failure = client.call::<Ping>(Empty {}, None).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Disconnected, false));
        assert!(failure.text().contains("the daemon has gone"), "{failure}");
    }
    let daemon = place.daemon("second");
    place.lead_to(&daemon);
    let serving = tokio::spawn(silent.serve(Answering));
    comes_back(&client).await;
    serving.abort();
}

/// A server that takes calls one by one hears once that its daemon has ended, and then has the calls of the next one.
#[tokio::test]
async fn a_server_hears_of_the_end_and_its_next_calls_are_those_of_the_next_daemon() {
    let _turn = ALONE.lock().await;
    let place = Place::new();
    let daemon = place.daemon("first");
    place.lead_to(&daemon);
    let mut server = place.attach().server::<Hotel>("hotel").await.unwrap();
    drop(daemon);
    server.next().await.unwrap_err();
    // Waiting may be given up at any time.
    for _ in 0..20 {
        assert!(tokio::time::timeout(Duration::from_millis(1), server.next()).await.is_err());
    }
    let daemon = place.daemon("second");
    place.lead_to(&daemon);
    let client = daemon.client().await;
    let serving = tokio::spawn(async move {
        loop {
            // Each wait is given up at once.
            match server.next().now_or_never() {
                Some(call) => call.unwrap().finish::<Ping>(Ok(Empty {})).await,
                None => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    });
    comes_back(&client).await;
    serving.abort();
}

/// A request that was made for a daemon that has gone fails alone, and responses that it lent stay.
#[tokio::test]
async fn a_request_of_an_earlier_heap_fails_alone_and_responses_that_are_held_stay() {
    let _turn = ALONE.lock().await;
    let place = Place::new();
    let daemon = place.daemon("first");
    place.lead_to(&daemon);
    let serving = tokio::spawn(place.attach().server("hotel").await.unwrap().serve(Answering));
    let client = place.attach().client::<Hotel>("hotel").await.unwrap();
    let asked = request(&client.heap(), "ada", 1, &[]);
    let held = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    let earlier = client.heap();
    let mut kept = vec![request(&earlier, "ada", 2, &["grace"])];
    let [guests, empty] = [request(&earlier, "", 0, &["grace"]), request(&earlier, "", 3, &[])];
    drop(daemon);
    let daemon = place.daemon("second");
    place.lead_to(&daemon);
    comes_back(&client).await;
    assert_ne!(client.heap().base(), earlier.base());
    // A part of the message alone is of the earlier heap.
    kept.push(Request { customer: Text::from_str_in("ada", &client.heap()), ..guests });
    let mut row = Row::new_in(&client.heap());
    row.push(Text::from_str_in("grace", &earlier));
    kept.push(Request { customer: Text::new_in(&client.heap()), nights: 1, guests: row });
    for asked in kept {
        let failure = client.call::<Reserve>(asked, Some(SOON)).await.err().unwrap();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Malformed, false));
        assert!(failure.text().contains("the heap of the present attachment"), "{failure}");
        // The application is not detached.
        client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
    // What has nothing in the heap is of none.
    let response = client.call::<Reserve>(empty, Some(SOON)).await.unwrap();
    assert_eq!((response.room.as_str(), response.price), ("", 3));
    assert_eq!((held.room.as_str(), held.price), ("ada", 1));
    serving.abort();
}

/// Code that makes requests needs no care for a daemon that has gone: the heap has room, and the call fails.
#[tokio::test]
async fn a_heap_without_a_daemon_has_room_up_to_its_quota() {
    let _turn = ALONE.lock().await;
    let daemon = Running::start();
    let client = daemon.attach().heap(4 << 20).client::<Hotel>("hotel").await.unwrap();
    drop(daemon);
    let long = "x".repeat(1 << 20);
    for _ in 0..10 {
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let failure = client.call::<Reserve>(asked, None).await.err().unwrap();
        assert_eq!(failure.kind(), FailureKind::Disconnected);
    }
    let (heap, mut kept) = (client.heap(), Vec::new());
    loop {
        let mut text = Text::new_in(&heap);
        if text.try_reserve(256 << 10).is_err() {
            break;
        }
        kept.push(text);
    }
    assert!((8..16).contains(&kept.len()), "{}", kept.len());
}

/// A daemon that is there and refuses the application is no absence, and is asked again.
#[tokio::test]
async fn a_refusal_is_the_reason_of_calls_until_it_ends() {
    let _turn = ALONE.lock().await;
    let place = Place::new();
    let [first, second] = ["first", "second"].map(|name| place.daemon(name));
    place.lead_to(&first);
    let client = place.attach().client::<Hotel>("hotel").await.unwrap();
    let other = second.attach().server::<OtherHotel>("hotel").await.unwrap();
    let kind = second.operator.kind("acl").unwrap();
    let change = Change::Add { name: "acl".into(), kind, settings: "field=guest deny=eve".parse().unwrap() };
    second.operator.change("hotel", &change).unwrap();
    place.lead_to(&second);
    drop(first);
    let is_told = |outcome: Result<(), Failure>| {
        let failure = outcome.unwrap_err();
        let text = failure.text();
        (text.contains("not attached again") && text.contains("a policy on hotel")).then_some(failure)
    };
    let failure = until(&client, is_told).await;
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Disconnected, false));
    second.operator.change("hotel", &Change::Remove { name: "acl".into() }).unwrap();
    drop(other);
    let serving = tokio::spawn(second.server().await.serve(Answering));
    comes_back(&client).await;
    serving.abort();
}

/// A server whose name another has taken meanwhile serves when the other has gone.
#[tokio::test]
async fn a_server_waits_for_its_name() {
    let _turn = ALONE.lock().await;
    let place = Place::new();
    let [first, second] = ["first", "second"].map(|name| place.daemon(name));
    place.lead_to(&first);
    let serving = tokio::spawn(place.attach().server("hotel").await.unwrap().serve(Answering));
    let other = second.server().await;
    place.lead_to(&second);
    drop(first);
    let client = second.client().await;
    let within = Some(Duration::from_millis(500));
    let failure = client.call::<Ping>(Empty {}, within).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::TimedOut, "the other server has the call");
    drop(other);
    comes_back(&client).await;
    serving.abort();
}

/// A daemon of its own process, at a path.
struct Process(Child);

impl Process {
    fn at(path: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
        command.arg("--socket").arg(path);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Process {
    /// Kills the daemon.
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn descriptors() -> HashSet<RawFd> {
    let numbers = std::fs::read_dir("/proc/self/fd").unwrap();
    numbers.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// Returns the number of descriptors of this process, and of its mappings of heaps and queues.
fn held() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (descriptors().len(), maps.lines().filter(|line| line.contains("/memfd:")).count())
}

/// Each call has one outcome, calls go on, and nothing is left of the daemons before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_and_a_server_outlive_daemons_and_hold_nothing_of_them() {
    let _turn = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut daemon = Process::at(&path);
    let attach = Attach::new(&path, "test");
    let serving = tokio::spawn(attach.server("hotel").await.unwrap().serve(Answering));
    let client = Arc::new(attach.client::<Hotel>("hotel").await.unwrap());
    let numbers = AtomicU64::new(0);
    let mut first = None;
    for _ in 0..30 {
        comes_back(&client).await;
        let asked = request(&client.heap(), "ada", 1, &[]);
        client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        // What was held of the daemon before is given up by tasks.
        let first = *first.get_or_insert_with(held);
        let end = Instant::now() + SOON;
        while held() != first {
            assert!(Instant::now() < end, "{first:?} after the first daemon, and {:?} now", held());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (stop, first_number) = (Arc::new(AtomicBool::new(false)), numbers.load(Ordering::Relaxed));
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                let (client, stop) = (Arc::clone(&client), Arc::clone(&stop));
                tokio::spawn(async move {
                    let (mut answered, mut lost) = (0, 0);
                    while !stop.load(Ordering::Relaxed) && lost == 0 {
                        let number = first_number + 4 * answered + caller;
                        let asked = request(&client.heap(), &number.to_string(), number as i32, &[]);
                        match client.call::<Reserve>(asked, Some(SOON)).await {
                            Ok(response) => {
                                assert_eq!(response.room.as_str(), number.to_string());
                                answered += 1;
                            }
                            Err(failure) if failure.kind() == FailureKind::Disconnected => lost += 1,
                            Err(failure) => assert!(failure.text().contains("attachment"), "{failure}"),
                        }
                    }
                    (answered, lost)
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(daemon);
        for caller in callers {
            let (answered, lost) = caller.await.unwrap();
            assert_eq!(lost, 1);
            numbers.fetch_add(4 * answered, Ordering::Relaxed);
        }
        stop.store(true, Ordering::Relaxed);
        daemon = Process::at(&path);
    }
    assert!(numbers.load(Ordering::Relaxed) > 0);
    serving.abort();
}

/// The daemon may live and still know the connection that has broken.
#[tokio::test]
async fn a_connection_that_breaks_is_replaced_while_the_daemon_lives() {
    let _turn = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let _daemon = Process::at(&path);
    let attach = Attach::new(&path, "test");
    let client = attach.client::<Hotel>("hotel").await.unwrap();
    let serving = tokio::spawn(attach.server("hotel").await.unwrap().serve(Answering));
    let held = {
        let asked = request(&client.heap(), "ada", 7, &[]);
        client.call::<Reserve>(asked, Some(SOON)).await.unwrap()
    };
    for _ in 0..10 {
        comes_back(&client).await;
        for descriptor in descriptors() {
            // SAFETY: it is open, or the call fails. No other test runs.
            let socket = unsafe { BorrowedFd::borrow_raw(descriptor) };
            // Sockets of the runtime are pairs without names, and so are those of queues; those of the daemon have its path as their peer.
            let peer = rustix::net::getpeername(socket).ok().flatten();
            let is_daemons = peer.is_some_and(|peer| {
                rustix::net::SocketAddrUnix::try_from(peer).is_ok_and(|peer| peer.path_bytes().is_some())
            });
            if is_daemons {
                rustix::net::shutdown(socket, rustix::net::Shutdown::Both).unwrap();
            }
        }
    }
    comes_back(&client).await;
    assert_eq!(held.room.as_str(), "ada");
    serving.abort();
}
