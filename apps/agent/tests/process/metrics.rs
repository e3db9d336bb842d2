//! The metrics of the agent.

use crate::agent::{Agent, WAYS, place};
use crate::flow::{Transfer, until_by_agent};
use std::io::{Read, Write};
use std::net::TcpStream;

fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flows_of_both_ways_are_counted() {
    let (folder, socket) = place();
    let agent = Agent::start(&socket, &["--quiet", "--metrics", "127.0.0.1:0"]);
    let address = agent.printed_behind("metrics at http://");
    let address = address.trim_end_matches("/metrics");
    let mut transfers = Vec::new();
    for way in WAYS {
        let control = way.control(&folder, &socket);
        transfers.push(Transfer::begin(control.clone()).await);
        until_by_agent(&control, 1).await;
        transfers.last().unwrap().continues(2_000).await;
    }
    let text = metrics(address);
    for line in
        ["bertha_agent_flows 2", "bertha_agent_flows_controlled 2", "bertha_agent_flows_created_total 2"]
    {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    for transfer in transfers {
        transfer.end().await;
    }
    assert!(agent.ends_well());
}
