//! Processes of other users, which claim to be the agent.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print what they skip")]

use crate::compiled::compile;
use bertha_ccp::Ccp;
use bertha_ccp::message::{Change, Message};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow, NewReno};
use std::fs::{Permissions, metadata, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// By this a process of this program is told in which folder it is to control flows.
const FOLDER: &str = "BERTHA_CCP_FOLDER";

/// The user that has no rights, on all systems.
const NOBODY: u32 = 65_534;

/// Not a test of its own: a process of another user, at the path of the agent. Its exit code says whether its messages were taken in.
#[test]
fn an_impostor() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let socket = UnixDatagram::bind(format!("{folder}/agent")).unwrap();
    let install = compile("(def (Report (x 0))) (when true (:= Cwnd 50000) (:= Rate 2000000) (report))");
    let change = Change { flow: 1, program: install.program, fields: Vec::new() };
    for message in [Message::Install(install), Message::Change(change)] {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        if socket.send_to(&bytes, format!("{folder}/datapath")).is_err() {
            std::process::exit(13);
        }
    }
}

fn acknowledge(control: &mut dyn CongestionControl, ms: u64) {
    let now = Duration::from_millis(ms);
    let sent = Some(now.saturating_sub(Duration::from_millis(20)));
    let ack = Ack { bytes_acked: 1_352, packets_acked: 1, now, newest_acked_sent: sent, ..Ack::default() };
    let flow = Flow { rtt_sample_us: 20_000, bytes_in_flight: 13_520, ..Flow::default() };
    control.on_ack(&ack, &flow);
}

#[test]
fn a_process_of_another_user_is_no_agent() {
    let folder = tempfile::tempdir().unwrap();
    let (own, agent) = (folder.path().join("datapath"), folder.path().join("agent"));
    let ccp = Ccp::unix(&own, &agent).unwrap();
    assert_eq!(metadata(&own).unwrap().permissions().mode() & 0o777, 0o600);
    if metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap() != 0 {
        println!("skipped: only root can be several users");
        return;
    }
    let mut control = ccp.start(1_352);
    let mut alone = NewReno.start(1_352);
    set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    // The program has to be where nobody can run it.
    let copy = folder.path().join("impostor");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    for (mode, code) in [(0o600, Some(13)), (0o666, Some(0))] {
        // As if the rights had been changed: then the kernel still says whose process has sent a message.
        set_permissions(&own, Permissions::from_mode(mode)).unwrap();
        let mut impostor = Command::new(&copy);
        impostor
            .args(["--exact", "other_users::an_impostor"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null());
        let ended = loop {
            match impostor.uid(NOBODY).gid(NOBODY).status() {
                // Another test that starts a process may have the copy open until then.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                ended => break ended.unwrap(),
            }
        };
        assert_eq!(ended.code(), code, "with mode {mode:o}");
        std::fs::remove_file(&agent).unwrap();
    }
    // Its messages are in the socket by now, and one of the real agent comes behind them.
    let real = UnixDatagram::bind(&agent).unwrap();
    let install = compile("(def (Report (x 0))) (when true (:= Cwnd 70000) (report))");
    let change = Change { flow: 1, program: install.program + 1, fields: Vec::new() };
    let mut install = install;
    install.program += 1;
    for message in [Message::Install(install), Message::Change(change)] {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        real.send_to(&bytes, &own).unwrap();
    }
    let mut ms = 0;
    while control.window() != 70_000 {
        ms += 1;
        assert!(ms < 100_000, "the program of the agent never came");
        acknowledge(&mut *control, ms);
        acknowledge(&mut *alone, ms);
        assert!([70_000, alone.window()].contains(&control.window()), "an impostor controls the flow");
        std::thread::sleep(Duration::from_millis(1));
    }
}
