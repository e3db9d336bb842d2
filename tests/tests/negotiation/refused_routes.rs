//! Routes that refuse messages of the handshake for a while, in a network namespace of the test's own.

use bertha_chunnels::{Ordered, Reliable};
use bertha_core::{Buf, Connection, ErrorKind, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Settings};
use std::process::Command;
use std::time::Duration;

/// Environment variable that is set in the process that runs within the namespace.
const WITHIN: &str = "BERTHA_TEST_REFUSED_ROUTES";

/// Runs a test of this file again where table 7 has routes that come before the routes of the host itself.
/// Returns false if the system does not permit namespaces.
fn runs_within(test: &str) -> bool {
    let script = "ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 \
                  && ip rule add pref 50 lookup 7 && exec \"$0\" \"$@\"";
    let this = std::env::current_exe().unwrap();
    let run = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script]).args(program).env(WITHIN, "1");
        command.output()
    };
    if !run(&["true"]).is_ok_and(|output| output.status.success()) {
        return false;
    }
    let test = format!("refused_routes::{test}");
    let output = run(&[this.to_str().unwrap(), "--exact", &test]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "within the namespace: {text}");
    assert!(text.contains("1 passed"), "within the namespace: {text}");
    true
}

/// Returns true in the namespace. Outside of it the test runs there, and the result is false.
fn is_within(test: &str) -> bool {
    if std::env::var_os(WITHIN).is_some() {
        return true;
    }
    let ran = runs_within(test);
    assert!(ran || std::env::var("CI").as_deref() != Ok("true"), "CI can make namespaces");
    false
}

/// Runs the system's `ip` with these words.
fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(done.success(), "ip {words}");
}

/// The server's address, and the address from which its clients come.
const HOSTS: [&str; 2] = ["127.0.0.9", "127.0.0.1"];

/// The types of routes to a host that refuse, with EACCES, EINVAL and EHOSTUNREACH.
const REFUSING: [&str; 3] = ["prohibit", "blackhole", "unreachable"];

#[test]
fn a_handshake_outlives_refusals_of_both_machines() {
    if !is_within("a_handshake_outlives_refusals_of_both_machines") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let [server, client] = HOSTS;
        let stack = || make_stack!(Ordered::new(), Reliable::new());
        for kind in REFUSING {
            let mut incoming = stack().listen(Udp::new(), format!("{server}:0").as_str()).await.unwrap();
            let to = incoming.local_addr();
            // The socket of the client is connected before a route refuses, and its first offers are not
            // answered, since the route of the answers refuses.
            ip(&format!("route add {kind} {client} table 7"));
            let refusing = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                ip(&format!("route add {kind} {server} table 7"));
                tokio::time::sleep(Duration::from_secs(1)).await;
                ip(&format!("route del {kind} {server} table 7"));
                ip(&format!("route del {kind} {client} table 7"));
            };
            let connecting = async { stack().connect(Udp::new(), to).await };
            let (accepted, connected, ()) = tokio::join!(incoming.next_or_refusal(), connecting, refusing);
            let (accepted, connected) = (accepted.unwrap().unwrap(), connected.unwrap());
            connected.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
            assert_eq!(*accepted.recv().await.unwrap(), *b"hello");
            let drops = connected.drops();
            let refused =
                drops.iter().find(|it| (it.layer, it.reason) == ("Link", "not sent by this machine"));
            assert!(refused.unwrap().messages > 0, "{kind}: {drops}");
        }
    });
}

#[test]
fn a_handshake_whose_messages_are_all_refused_times_out_and_says_why() {
    if !is_within("a_handshake_whose_messages_are_all_refused_times_out_and_says_why") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let [server, _] = HOSTS;
        for kind in REFUSING {
            // A server that never answers.
            let silent = std::net::UdpSocket::bind((server, 0)).unwrap();
            let settings = Settings::default().handshake_timeout(Duration::from_secs(2));
            let to = silent.local_addr().unwrap();
            let connecting = async { make_stack!().connect(Udp::new(), to).settings(settings).await };
            let refusing = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                ip(&format!("route add {kind} {server} table 7"));
            };
            let (connected, ()) = tokio::join!(connecting, refusing);
            ip(&format!("route del {kind} {server} table 7"));
            let error = connected.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{kind}: {error}");
            assert!(error.to_string().contains("do not leave for the peer"), "{kind}: {error}");
        }
    });
}
