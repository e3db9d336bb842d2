//! Daemons that call each other over DPDK ports, which shared memory joins.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

use crate::hotel::{Empty, Hotel, Ping, Reserve, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::{Attach, Client, Server};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Longer than a daemon takes to notice that another is gone, and to try it again.
const SOON: Duration = Duration::from_secs(60);

/// A daemon at a port, which is killed with this.
struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts a daemon at one end of the shared memory. Returns `None` where there is no DPDK, which CI has.
    fn start(folder: &Path, role: &str, options: &[&str]) -> Option<Self> {
        let (socket, memory, log) =
            (folder.join(role), folder.join("memif"), folder.join(format!("{role}.log")));
        let address = if role == "server" { "10.0.0.2/24" } else { "10.0.0.1/24" };
        let device = format!("net_memif0,role={role},id=0,socket={},socket-abstract=no", memory.display());
        let mut child = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"))
            .arg("--socket")
            .arg(&socket)
            .args(options)
            .envs([("BERTHA_DPDK_DEVICE", &*device), ("BERTHA_DPDK_ADDRESS", address), ("RUST_LOG", "info")])
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        if lines.any(|line| line.unwrap().starts_with("applications attach at")) {
            return Some(Self { child, socket, log });
        }
        child.wait().unwrap();
        let log = fs::read_to_string(log).unwrap();
        let is_ci = std::env::var("CI").as_deref() == Ok("true");
        assert!(log.contains("DPDK is not installed") && !is_ci, "must not be skipped in CI: {log}");
        eprintln!("SKIPPED: {log}");
        None
    }

    fn attach(&self) -> Attach {
        Attach::new(&self.socket, "test")
    }

    async fn client(&self) -> Arc<Client<Hotel>> {
        Arc::new(self.attach().client("hotel").await.unwrap())
    }

    async fn server(&self) -> Server<Hotel> {
        self.attach().server("hotel").await.unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // SIGKILL.
        let _ended = (self.child.kill(), self.child.wait());
        if std::thread::panicking() {
            eprintln!("{}: {}", self.log.display(), fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// Starts the daemon of the client, and that of the server, which takes no calls of eve. The first has the shared memory, and opens its port
/// at once, since it listens too: the other can be started again.
fn start(folder: &Path, options: &[&str]) -> Option<[Daemon; 2]> {
    let own = ["--listen", "dpdk:10.0.0.2:7000", "--route", "hotel=dpdk:10.0.0.1:7000"];
    Some([Daemon::start(folder, "server", &[&own, options].concat())?, far(folder, options)?])
}

fn far(folder: &Path, options: &[&str]) -> Option<Daemon> {
    let own = ["--listen", "dpdk:10.0.0.1:7000", "--engine", "hotel:acl:field=customer deny=eve"];
    Daemon::start(folder, "client", &[&own, options].concat())
}

/// Calls with messages of all sizes, one at a time and then many at once, of which each has its outcome.
async fn check(client: Arc<Client<Hotel>>, largest: usize) {
    for length in [1, 1 << 10, 64 << 10, largest, 100] {
        let long = "x".repeat(length);
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("ada: {long}"), "{length}");
    }
    let mut calls = JoinSet::new();
    for nights in 0..300 {
        let client = Arc::clone(&client);
        calls.spawn(async move {
            let (customer, guest) = (["ada", "bob", "eve"][nights as usize % 3], "x".repeat(64 << 10));
            let length = if nights % 5 == 0 { guest.len() } else { nights as usize };
            let asked = request(&client.heap(), customer, nights, &[&guest[..length]]);
            let response =
                client.call::<Reserve>(asked, Some(SOON)).await.map_err(|failure| failure.kind())?;
            assert!(response.room.as_str() == format!("{customer}: {}", &guest[..length]));
            assert_eq!(response.price, 100 * nights);
            Ok(())
        });
    }
    let outcomes = calls.join_all().await;
    let count = |outcome: &Result<(), FailureKind>| outcomes.iter().filter(|other| *other == outcome).count();
    assert_eq!((count(&Ok(())), count(&Err(FailureKind::Denied))), (200, 100), "{outcomes:?}");
}

/// Calls until a call succeeds. No call before has run.
async fn until_served(client: &Client<Hotel>) {
    let served = async {
        while let Err(failure) = client.call::<Ping>(Empty {}, Some(SOON)).await {
            assert_eq!(
                (failure.kind(), failure.may_have_run()),
                (FailureKind::Unavailable, false),
                "{failure}"
            );
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, served).await.unwrap();
}

#[tokio::test]
async fn daemons_call_each_other_over_ports_and_one_that_is_killed_fails_its_calls_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some([near, server]) = start(folder.path(), &[]) else { return };
    let serving = serve(server.server().await);
    let caller = near.client().await;
    check(Arc::clone(&caller), 3 << 20).await;
    // A call that the server works on when its daemon is killed.
    let asked = request(&caller.heap(), "slow", 1, &[]);
    let other = Arc::clone(&caller);
    let waiting = tokio::spawn(async move { other.call::<Reserve>(asked, None).await.err().unwrap() });
    tokio::task::yield_now().await;
    caller.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    assert!(!waiting.is_finished());
    drop(server);
    let failure = timeout(SOON, waiting).await.unwrap().unwrap();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, true), "{failure}");
    let log = fs::read_to_string(&near.log).unwrap();
    assert!(
        log.contains("10.0.0.1:7000 has said nothing for"),
        "the daemon at the port has asked in vain: {log}"
    );
    serving.await.unwrap();
    let server = far(folder.path(), &[]).unwrap();
    let _serving = serve(server.server().await);
    until_served(&caller).await;
    check(caller, 3 << 20).await;
}

#[tokio::test]
async fn daemons_over_ports_have_tls_and_threads_for_services_as_others_have() {
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(["daemons".to_owned()]).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let certificate = write("daemons.pem", certified.cert.pem());
    let key = write("daemons.key", certified.signing_key.serialize_pem());
    let tls =
        ["--tls-cert", &certificate, "--tls-key", &key, "--tls-ca", &certificate, "--tls-name", "daemons"];
    let options = [&tls[..], &["--dedicated", "hotel"]].concat();
    let Some([near, server]) = start(folder.path(), &options) else { return };
    let serving = serve(server.server().await);
    let caller = near.client().await;
    check(Arc::clone(&caller), 3 << 20).await;
    drop(server);
    serving.await.unwrap();
    // One without a certificate gets no calls.
    let other = far(folder.path(), &[]).unwrap();
    let _serving = serve(other.server().await);
    let not_heard = async {
        loop {
            let failure = caller.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
            assert_eq!(failure.kind(), FailureKind::Unavailable, "{failure}");
            if !failure.may_have_run() {
                break;
            }
        }
    };
    timeout(SOON, not_heard).await.unwrap();
}
