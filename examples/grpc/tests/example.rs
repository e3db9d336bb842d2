//! The example over DPDK in a process of its own, started as a reader of it starts it.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

use bertha::{Addr, Datapath, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk, Tcp};
use bertha_example_grpc::channel;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

const SERVER: &str = "10.0.0.1:50051";

/// Number of attempts to reach the server, and the pause between two attempts: longer than any start takes.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// The example's process, which is killed when the value is dropped.
struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: the example over DPDK: {what}");
}

/// Returns the path of the program, which is built with the tests, unless only some of them are asked for.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples/health_over_dpdk")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tonic_server_over_dpdk_answers() {
    if !program().exists() {
        return skip("it is not built: cargo build --package bertha-example-grpc --examples");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = |role: &str| {
        let socket = folder.path().join("memif");
        format!("net_memif0,role={role},id=0,socket={},socket-abstract=no", socket.display())
    };
    // This end of the shared memory has to exist first; the roles of server and client are independent of
    // that.
    let port = match Dpdk::open(&Config { buffers: 2047, ..Config::new(device("server"), "10.0.0.2/24") }) {
        Ok(port) => port,
        Err(error) if error.kind() == ErrorKind::Unavailable => return skip(&error.to_string()),
        Err(error) => panic!("{error:?}"),
    };
    let mut command = Command::new(program());
    command.arg(SERVER).env("BERTHA_DPDK_DEVICE", device("client")).env("BERTHA_DPDK_ADDRESS", "10.0.0.1/24");
    let mut server = Example(command.stdin(Stdio::null()).spawn().unwrap());

    let tcp = Arc::new(Tcp::over(&port).bytes());
    let connect = move || {
        let tcp = tcp.clone();
        async move { tcp.connect(SERVER.parse::<Addr>()?).await }
    };
    let mut tries = 0;
    let channel = loop {
        match channel(connect.clone()).await {
            Ok(channel) => break channel,
            // The server is not ready yet.
            Err(error) => {
                tries += 1;
                assert!(tries < TRIES, "{error:?}");
                assert_eq!(server.0.try_wait().unwrap(), None, "the server has ended");
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    let asked = HealthCheckRequest { service: "example".into() };
    let answer = HealthClient::new(channel).check(asked).await.unwrap().into_inner();
    assert_eq!(answer.status(), ServingStatus::Serving);
}
