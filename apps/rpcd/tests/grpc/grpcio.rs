//! Strangers in Python that speak gRPC, on both sides of a daemon: grpcio is the judge, by the programs beside this file.

use crate::authority::Authority;
use crate::hotel::{Empty, Ping, Reserve, Running, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::Order;
use bertha_rpcd::{GrpcTls, Peers, Route, Settings};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::task::spawn_blocking;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/grpcio");

/// The exit status of the script if grpcio is not installed.
const NOT_INSTALLED: i32 = 3;

const SOON: Duration = Duration::from_secs(20);

const NAME: &str = "hotel.example";

/// A program of Python, which ends when this is dropped.
struct Program {
    child: Child,
    /// Its end ends the program.
    input: Option<ChildStdin>,
    printed: String,
}

impl Program {
    /// Starts a program, and waits for a line. Returns `None` if grpcio is not installed, which is a failure in CI.
    async fn start(arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new(SCRIPT);
        command.arg("run").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        spawn_blocking(move || Self::spawn(&mut command)).await.unwrap()
    }

    fn spawn(command: &mut Command) -> Option<Self> {
        let mut child = command.spawn().unwrap();
        let (input, mut line) = (child.stdin.take().unwrap(), String::new());
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let status = child.wait().unwrap();
            assert_eq!(status.code(), Some(NOT_INSTALLED), "the program has failed");
            skip();
            return None;
        }
        Some(Self { child, input: Some(input), printed: line.trim().to_owned() })
    }

    async fn end(mut self) -> ExitStatus {
        spawn_blocking(move || self.child.wait().unwrap()).await.unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
fn skip() {
    let what = "grpcio is not installed; run scripts/grpcio install";
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
}

fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, content).unwrap();
    file
}

/// Lets the client in Python call a hotel behind a policy that refuses those of `eve`.
async fn is_called(grpc_tls: GrpcTls, arguments: &[&str]) {
    let peers = Peers { grpc: Some("127.0.0.1:0".parse().unwrap()), grpc_tls, ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let _serving = serve(daemon.server().await);
    let [service, name, kind] = ["hotel", "acl", "acl"].map(Into::into);
    let order = Order::Add { service, name, kind, settings: "field=customer deny=eve".into() };
    order.give(&daemon.path).await.unwrap();
    let addr = daemon.grpc_addr.as_ref().unwrap().to_string();
    let Some(client) = Program::start(&[&["client.py", &addr], arguments].concat()).await else { return };
    assert_eq!(client.printed, "ok");
    assert!(client.end().await.success());
}

/// Calls the server in Python along a route, which `route` makes of its address.
async fn calls(route: impl Fn(std::net::SocketAddr) -> Route, grpc_tls: GrpcTls, arguments: &[&str]) {
    let Some(server) = Program::start(&[&["server.py"], arguments].concat()).await else { return };
    let routes = vec![("hotel".into(), route(server.printed.parse().unwrap()).into())];
    let peers = Peers { routes, grpc_tls, ..Peers::default() };
    let daemon = Running::with(Settings { peers, ..Settings::default() });
    let client = daemon.client().await;
    let reserve = async |customer, nights, guests: &[&str], within| {
        let asked = request(&client.heap(), customer, nights, guests);
        client.call::<Reserve>(asked, Some(within)).await
    };
    for nights in 1..=50 {
        let response = reserve("ada", nights, &["grace", "edsger"], SOON).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: grace, edsger", 100 * nights));
    }
    let long = "x".repeat(3 << 20);
    assert!(reserve("ada", 1, &[&long], SOON).await.unwrap().room.as_str() == format!("ada: {long}"));
    let left = reserve("late", 1, &[], SOON).await.unwrap().price;
    assert!((1..=SOON.as_secs() as i32).contains(&left), "{left} seconds are left");
    let failure = reserve("eve", 1, &[], SOON).await.err().unwrap();
    assert_eq!((failure.kind(), failure.text()), (FailureKind::Denied, "no room for eve, 100 % sure"));
    let failure = reserve("slow", 1, &[], Duration::from_millis(200)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::TimedOut);
    let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.err().unwrap();
    assert_eq!(failure.kind(), FailureKind::UnknownMethod);
    drop(server);
}

#[tokio::test]
async fn a_client_in_python_calls_a_server_of_the_machine() {
    is_called(GrpcTls::default(), &[]).await;
}

#[tokio::test]
async fn a_client_in_python_calls_by_tls() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let ca = written(folder.path(), "ca.pem", &authority.pem());
    let identity = Some(authority.issue(NAME).identity());
    is_called(GrpcTls { identity, ..GrpcTls::default() }, &[ca.to_str().unwrap(), NAME]).await;
}

#[tokio::test]
async fn an_application_calls_a_server_in_python() {
    calls(Route::Grpc, GrpcTls::default(), &[]).await;
}

#[tokio::test]
async fn an_application_calls_a_server_in_python_by_tls() {
    let (authority, folder) = (Authority::new("theirs"), tempfile::tempdir().unwrap());
    let issued = authority.issue(NAME);
    let files = [("certificate", &issued.certificate), ("key", &issued.key)];
    let files = files.map(|(name, content)| written(folder.path(), name, content));
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let tls = GrpcTls { servers: Some(authority.trust()), ..GrpcTls::default() };
    calls(|addr| Route::Grpcs(addr, NAME.into()), tls, &files).await;
}
