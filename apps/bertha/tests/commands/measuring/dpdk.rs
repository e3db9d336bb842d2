//! Measurements over the ports of DPDK that the environment describes, joined by shared memory.

use crate::measuring::program::{Server, bertha, json};
use std::process::Output;

/// Returns true if DPDK is installed; prints a loud message if not.
fn is_installed(log: &str) -> bool {
    let is_installed = !log.contains("DPDK is not installed");
    assert!(is_installed || std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {log}");
    is_installed
}

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    bertha(arguments).envs(environment.iter().copied()).output().unwrap()
}

/// The program can't help if the environment describes no port.
#[test]
fn a_port_that_is_not_described_is_asked_for() {
    for datapath in ["dpdk", "dpdk-tcp"] {
        for command in
            [&["ping", "10.0.0.1"][..], &["perf", "--client", "10.0.0.1"], &["perf", "--server", "10.0.0.1"]]
        {
            let run = run(&[command, &["--datapath", datapath]].concat(), &[]);
            let log = String::from_utf8_lossy(&run.stderr);
            assert!(!run.status.success() && log.starts_with("bertha: "), "{log}");
            assert!(log.contains("BERTHA_DPDK_") || !is_installed(&log), "{log}");
        }
    }
}

#[test]
fn perf_and_ping_run_over_ports() {
    for (datapath, stack) in [("dpdk", "ordered,reliable"), ("dpdk-tcp", "checksum")] {
        let folder = tempfile::tempdir().unwrap();
        let device = |role: &str| {
            let socket = folder.path().join("memif");
            format!("net_memif0,role={role},id=0,socket={},socket-abstract=no", socket.display())
        };
        let (server, client) = (device("server"), device("client"));
        let server = [("BERTHA_DPDK_DEVICE", &*server), ("BERTHA_DPDK_ADDRESS", "10.0.0.1/24")];
        let client = [("BERTHA_DPDK_DEVICE", &*client), ("BERTHA_DPDK_ADDRESS", "10.0.0.2/24")];
        let options = ["--datapath", datapath, "--stack", stack];
        if !is_installed(&String::from_utf8_lossy(&run(&["ping", "10.0.0.1", "-d", datapath], &[]).stderr)) {
            return;
        }
        let mut serving = Server::start_with("10.0.0.1:5201", &options, &server);
        let measured = |arguments: &[&str]| {
            let run = run(&[arguments, &options, &["--json"]].concat(), &client);
            assert!(run.status.success(), "{datapath}: {}", String::from_utf8_lossy(&run.stderr));
            json(&String::from_utf8(run.stdout).unwrap())
        };
        let pinged = measured(&["ping", "10.0.0.1", "-c", "20", "-i", "0.002"]);
        assert_eq!((&pinged["sent"], &pinged["received"]), (&20.into(), &20.into()), "{pinged}");
        assert_eq!(serving.next()["pings"], 20);
        // The server's port counts frames to a port at which nobody listens.
        assert!(
            !run(&[&["ping", "10.0.0.1:77", "-c", "1"][..], &options].concat(), &client).status.success()
        );
        for direction in [&[][..], &["-R"]] {
            let printed = measured(&[&["perf", "-c", "10.0.0.1", "-t", "0.3"], direction].concat());
            let (sum, received) = (&printed["end"]["sum"], &printed["end"]["sum_received"]);
            assert_eq!(sum["lost"], 0, "{printed}");
            assert!(received["messages"].as_u64().unwrap() > 0, "{printed}");
            let served = serving.next();
            let counted = if direction.is_empty() { "messages" } else { "sent_messages" };
            assert_eq!(served[counted], printed["end"]["sum_sent"]["messages"], "{served}");
            let lost = |row: &serde_json::Value| row["reason"].as_str().unwrap().contains("closed port");
            let is_told = served["port"].as_array().unwrap().iter().any(lost);
            assert!(is_told == direction.is_empty() && printed["port"].is_array(), "{served} {printed}");
        }
    }
}
