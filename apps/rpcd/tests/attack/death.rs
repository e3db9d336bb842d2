//! Applications and daemons that are killed, and daemons that stop.

mod application;
mod applications;
mod daemons;
mod held;
mod ledger;
mod lines;

use super::*;

/// A daemon that stops, and goes on: deadlines hold meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_sleeps() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    for _ in 0..20 {
        let failure = honest.call::<Ping>(Empty {}, Some(Duration::from_millis(20))).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::TimedOut);
    }
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    works(&honest, 10).await;
}
