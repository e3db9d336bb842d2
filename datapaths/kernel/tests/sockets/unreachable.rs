//! A host of the local network that does not exist, in a network namespace of the test's own.

use bertha_core::{Base, Connection, Datapath, ErrorKind};
use bertha_datapath_kernel::Udp;
use std::process::Command;

/// Environment variable that is set in the process that runs within the namespace.
const WITHIN: &str = "BERTHA_TEST_NAMESPACE";

/// Runs this test again where `10.77.0.0/24` is at the end of a cable that leads nowhere. Returns false if
/// the system does not permit namespaces.
fn runs_within(test: &str) -> bool {
    let script = "ip link add near type veth peer name far && ip addr add 10.77.0.1/24 dev near \
                  && ip link set lo up && ip link set near up && ip link set far up && exec \"$0\" \"$@\"";
    let this = std::env::current_exe().unwrap();
    let run = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script]).args(program).env(WITHIN, "1");
        command.output().is_ok_and(|output| output.status.success())
    };
    if !run(&["true"]) {
        return false;
    }
    assert!(run(&[this.to_str().unwrap(), "--exact", test]), "it failed within the namespace");
    true
}

#[test]
fn messages_to_a_host_that_no_neighbour_knows_are_not_sent() {
    if std::env::var_os(WITHIN).is_none() {
        let ran = runs_within("unreachable::messages_to_a_host_that_no_neighbour_knows_are_not_sent");
        assert!(ran || std::env::var("CI").as_deref() != Ok("true"), "CI can make namespaces");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = Udp::new().connect("10.77.0.2:7".parse().unwrap()).await.unwrap();
        for _ in 0..2 {
            connection.send(connection.base().buffer(5).unwrap()).await.unwrap();
            let error = connection.recv().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
            assert!(!error.ends_connection() && error.to_string().contains("10.77.0.2:7"), "{error}");
        }
    });
}

/// Runs the system's `ip` with these words.
fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(done.success(), "ip {words}");
}

#[test]
fn a_route_that_refuses_for_a_while_ends_no_connection() {
    if std::env::var_os(WITHIN).is_none() {
        let ran = runs_within("a_route_that_refuses_for_a_while_ends_no_connection");
        assert!(ran || std::env::var("CI").as_deref() != Ok("true"), "CI can make namespaces");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = Udp::new().connect("10.77.0.2:7".parse().unwrap()).await.unwrap();
        let send = async || connection.send(connection.base().buffer(5).unwrap()).await;
        for kind in ["prohibit", "blackhole", "unreachable"] {
            send().await.unwrap();
            ip(&format!("route add {kind} 10.77.0.2"));
            for _ in 0..2 {
                let error = send().await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSent, "{error}");
                assert!(!error.ends_connection() && error.to_string().contains("10.77.0.2:7"), "{error}");
            }
            ip(&format!("route del {kind} 10.77.0.2"));
        }
        send().await.unwrap();
    });
}
