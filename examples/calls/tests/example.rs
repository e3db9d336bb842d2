//! The example, with a daemon of this process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_managed::Order;
use bertha_rpcd::{Daemon, Settings};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

fn calls(socket: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-example-calls"));
    command.arg(socket).args(arguments).kill_on_drop(true);
    command
}

async fn ask(socket: &Path, name: &str) -> Output {
    calls(socket, &["ask", name]).output().await.unwrap()
}

#[tokio::test]
async fn a_server_attaches_again_when_its_daemon_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let listen = async || Daemon::listen(&socket, Settings::default()).await.unwrap();
    let running = tokio::spawn(listen().await.run());
    let mut server = calls(&socket, &["serve"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "ready");
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let running = tokio::spawn(listen().await.run());
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let asked = ask(&socket, "Ada").await;
        if asked.status.success() {
            assert_eq!(asked.stdout, b"hello, Ada\n");
            break;
        }
        assert!(Instant::now() < until, "{asked:?}");
    }
    running.abort();
}

#[tokio::test]
async fn a_client_is_greeted_until_a_policy_forbids_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let daemon = Daemon::listen(&socket, Settings::default()).await.unwrap();
    let running = tokio::spawn(daemon.run());
    let mut server = calls(&socket, &["serve"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "ready");
    assert_eq!(ask(&socket, "Ada").await.stdout, b"hello, Ada\n");
    let [service, name, kind] = ["greeter", "list", "acl"].map(Into::into);
    Order::Add { service, name, kind, settings: "field=name deny=Eve".into() }.give(&socket).await.unwrap();
    let refused = ask(&socket, "Eve").await;
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("denied"),
        "{refused:?}"
    );
    assert_eq!(ask(&socket, "Grace").await.stdout, b"hello, Grace\n");
    running.abort();
}
