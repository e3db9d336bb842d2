//! What an operator or a program has got wrong.

use crate::agent::{Agent, WAYS, Way, command, memory, place};
use crate::flow::Transfer;
use bertha::ccp::Choice;

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_whose_algorithm_is_unknown_goes_on_by_itself() {
    for way in WAYS {
        let (folder, socket) = place();
        let agent = Agent::start(&socket, &[]);
        let control = way.control(&folder, &socket).algorithm("cubik").unwrap();
        let transfer = Transfer::begin(control.clone()).await;
        transfer.continues(500).await;
        agent.prints("requests the algorithm `cubik`, and this agent has bbr, copa, copa-default, cubic");
        assert_eq!(control.statistics().by_agent, 0);
        transfer.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_refuses_its_program_is_not_shown_as_controlled() {
    let (folder, socket) = place();
    let agent = Agent::start(&socket, &["--interval", "0.1"]);
    // The algorithm reads the marks of routers, and the transport has none.
    let control = Way::Socket.control(&folder, &socket).algorithm("dctcp").unwrap();
    let transfer = Transfer::begin(control.clone()).await;
    transfer.continues(2_000).await;
    agent.prints("no report yet: its own control goes on");
    assert!(!agent.has_printed("  dctcp        127.0.0.1:", "window"));
    assert_eq!(control.statistics().by_agent, 0);
    transfer.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_is_nobodys_leaves_the_flow_to_its_own_control() {
    let (_folder, socket) = place();
    for way in ["", "shm:"] {
        let choice: Choice = format!("agent:cubic@{way}{}", socket.display()).parse().unwrap();
        let transfer = Transfer::begin(choice.open().unwrap()).await;
        transfer.continues(500).await;
        transfer.end().await;
    }
}

#[test]
fn two_agents_at_a_socket_are_refused_and_a_dead_agents_socket_is_replaced() {
    let (_folder, socket) = place();
    let first = Agent::start(&socket, &[]);
    let second = command(&socket, &[]).output().unwrap();
    let reason = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1));
    assert!(reason.contains("listens at") && reason.contains("already"), "{reason}");
    // The socket is another, and the place of the memory is that of the first.
    let other = socket.with_extension("other");
    let third = command(&other, &[]).output().unwrap();
    let reason = String::from_utf8_lossy(&third.stderr).into_owned();
    assert_eq!(third.status.code(), Some(1));
    assert!(reason.contains("agent.shm: another server uses it"), "{reason}");
    assert!(!other.exists());
    drop(first);
    assert!(socket.exists() && memory(&socket).exists(), "it was killed");
    assert!(Agent::start(&socket, &[]).ends_well());
    assert!(!socket.exists() && !memory(&socket).exists());
}

#[test]
fn options_that_make_no_sense_are_named_with_what_is_allowed() {
    let (_folder, socket) = place();
    for (options, told) in [
        (["--algorithm", "cubik"], ["cubik", "newreno"]),
        (["--set", "cubic.beta=1.5"], ["--set", "beta is 1.5; allowed is 0.1 to 0.95"]),
        (["--set", "cubic.bta=0.5"], ["--set", "cubic: there is no setting `bta`, only c, beta"]),
    ] {
        let refused = command(&socket, &options).output().unwrap();
        let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2));
        assert!(told.iter().all(|text| reason.contains(text)), "{reason}");
        assert!(!socket.exists());
    }
}
