//! Agents that come, stop and go amid a transfer.

use crate::agent::{Agent, WAYS, place};
use crate::flow::{Transfer, until_by_agent};
use rustix::process::Signal;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_is_controlled_by_the_algorithm_that_it_asks_for() {
    let names = ["bbr", "copa", "copa-default", "cubic", "newreno", "nimbus", "vegas"];
    for (name, way) in names.into_iter().flat_map(|name| WAYS.map(|way| (name, way))) {
        let (folder, socket) = place();
        let agent = Agent::start(&socket, &["--interval", "0.1"]);
        let control = way.control(&folder, &socket).algorithm(name).unwrap();
        let transfer = Transfer::begin(control.clone()).await;
        until_by_agent(&control, 1).await;
        transfer.continues(2_000).await;
        agent.prints(&format!("  {name}"));
        transfer.end().await;
        agent.prints("flows: 0, ended: 1");
        assert!(agent.ends_well() && !socket.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_outlives_agents_that_are_stopped_killed_and_started_anew() {
    for way in WAYS {
        let (folder, socket) = place();
        let control = way.control(&folder, &socket);
        let transfer = Transfer::begin(control.clone()).await;
        transfer.continues(100).await;
        assert_eq!(control.statistics().by_agent, 0, "there is no agent yet");
        for _ in 0..2 {
            let agent = Agent::start(&socket, &[]);
            until_by_agent(&control, 1).await;
            transfer.continues(1_000).await;
            agent.signal(Signal::STOP);
            until_by_agent(&control, 0).await;
            transfer.continues(1_000).await;
            agent.signal(Signal::CONT);
            until_by_agent(&control, 1).await;
            transfer.continues(1_000).await;
            agent.signal(Signal::KILL);
            until_by_agent(&control, 0).await;
            transfer.continues(1_000).await;
        }
        transfer.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_controls_sixty_four_flows() {
    for way in WAYS {
        let (folder, socket) = place();
        let agent = Agent::start(&socket, &["--algorithm", "copa", "--interval", "0.2"]);
        let control = way.control(&folder, &socket);
        let mut transfers = Vec::new();
        for _ in 0..64 {
            transfers.push(Transfer::begin_paced(control.clone(), Duration::from_millis(200)).await);
        }
        until_by_agent(&control, 64).await;
        agent.prints("flows: 64, ended: 0");
        for transfer in &transfers {
            transfer.continues(1).await;
        }
        for transfer in transfers {
            transfer.end().await;
        }
        agent.prints("flows: 0, ended: 64");
    }
}
