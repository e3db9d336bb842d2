//! A daemon and applications that poll.

use crate::hotel::{Hotel, Reserve, request, serve};
use bertha_datapath_shm::Waiting;
use bertha_managed::application::Attach;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// A process, which ends with this.
struct Process(Child);

impl Process {
    /// Returns the processor time so far, in ticks of the system.
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        // The name of the program is in parentheses, and may have any characters.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|time| time.parse::<u64>().unwrap()).sum()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn a_daemon_that_sleeps_takes_no_time_while_nobody_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let daemon = Process(command.arg("--socket").arg(&path).args(["--dedicated", "hotel"]).spawn().unwrap());
    let attach = || Attach::new(&path, "test");
    let serving = [
        serve(attach().server::<Hotel>("hotel").await.unwrap()),
        serve(attach().server::<Hotel>("inn").await.unwrap()),
    ];
    let clients =
        [attach().client::<Hotel>("hotel").await.unwrap(), attach().client::<Hotel>("inn").await.unwrap()];
    for client in &clients {
        let asked = request(&client.heap(), "ada", 1, &["guest"]);
        assert_eq!(client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price, 100);
    }
    let mut taken = u64::MAX;
    // What was begun before ends first.
    for _ in 0..10 {
        let before = daemon.ticks();
        tokio::time::sleep(Duration::from_secs(1)).await;
        taken = daemon.ticks() - before;
        if taken == 0 {
            break;
        }
    }
    assert_eq!(taken, 0);
    serving.into_iter().for_each(|serving| serving.abort());
}

#[tokio::test]
async fn a_daemon_that_polls_serves_applications_that_poll_and_that_sleep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let daemon = Process(command.arg("--socket").arg(&path).arg("--poll").spawn().unwrap());
    let attach = |waiting| Attach::new(&path, "test").waiting(waiting);
    let serving = serve(attach(Waiting::Spin).server::<Hotel>("hotel").await.unwrap());
    let adaptive = Waiting::Adaptive { spin_for: Duration::from_micros(50) };
    for waiting in [Waiting::Park, Waiting::Spin, adaptive] {
        let client = attach(waiting).client::<Hotel>("hotel").await.unwrap();
        for nights in 0..10 {
            let asked = request(&client.heap(), "ada", nights, &["guest"]);
            assert_eq!(client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price, 100 * nights);
        }
    }
    serving.abort();
    // One application is there, and says nothing.
    let _idle = attach(Waiting::Park).client::<Hotel>("hotel").await.unwrap();
    let (before, end) = (daemon.ticks(), Instant::now() + SOON);
    while daemon.ticks() < before + 10 {
        assert!(Instant::now() < end, "the daemon sleeps");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
