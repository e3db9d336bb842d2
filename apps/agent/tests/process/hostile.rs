//! Datapaths that send what they should not, and datapaths that vanish.

use crate::agent::{Agent, WAYS, Way, command, memory, place};
use crate::flow::{Transfer, until_by_agent};
use bertha::shm::Shm;
use bertha::{Addr, Buf, Connection, Datapath};
use bertha_ccp::message::{AlgorithmName, Change, Create, Install, Message, Ready, Update};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn create(flow: u32) -> Message {
    Message::Create(Create {
        flow,
        initial_window: 12_000,
        packet: 1_200,
        source_address: 0,
        source_port: 0,
        destination_address: 0,
        destination_port: 0,
        algorithm: AlgorithmName::DEFAULT,
    })
}

/// Connects to an agent that shares memory, and says nothing yet.
async fn shared(path: &Path) -> impl Connection<Data = Buf> + use<> {
    Shm::new().connect(Addr::Unix(path.to_owned())).await.unwrap()
}

/// Each of these would end an agent that runs portus alone.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_no_datapath_sends_end_no_agent() {
    let (folder, socket) = place();
    let agent = Agent::start(&socket, &["--interval", "0.1"]);
    let stranger = UnixDatagram::bind(folder.path().join("stranger")).unwrap();
    let install = Install { flow: 0, program: 1, clauses: Vec::new(), instructions: Vec::new() };
    let mut messages = vec![
        Vec::new(),
        vec![0],
        vec![0xff; 64],
        encoded(&Message::Install(install)),
        encoded(&Message::Update(Update { flow: 1, fields: Vec::new() })),
        encoded(&Message::Change(Change { flow: 1, program: 1, fields: Vec::new() })),
        [encoded(&create(1)), vec![1]].concat(),
    ];
    let whole = encoded(&create(1));
    messages.extend((1..whole.len()).map(|length| whole[..length].to_vec()));
    messages.extend((0..whole.len().min(8)).map(|at| {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        damaged
    }));
    let unnamed = UnixDatagram::unbound().unwrap();
    for message in &messages {
        stranger.send_to(message, &socket).unwrap();
        unnamed.send_to(message, &socket).unwrap();
    }
    let sharer = shared(&memory(&socket)).await;
    messages.push(vec![0x55; 4_096]);
    for message in messages.iter().filter(|message| !message.is_empty()) {
        sharer.send(Buf::copy_of(message, 0).unwrap()).await.unwrap();
    }
    // A flow of a datapath that reads nothing.
    stranger.send_to(&whole, &socket).unwrap();
    sharer.send(Buf::copy_of(&whole, 0).unwrap()).await.unwrap();

    for way in WAYS {
        let control = way.control(&folder, &socket);
        let transfer = Transfer::begin(control.clone()).await;
        until_by_agent(&control, 1).await;
        transfer.continues(500).await;
        transfer.end().await;
    }
    assert!(agent.ends_well());
}

/// The table of 24 flows fills the pipe within a second.
#[test]
fn a_reader_of_the_output_that_does_not_read_keeps_no_signal_waiting() {
    let (folder, socket) = place();
    let mut agent = command(&socket, &["--interval", "0.001"]).stdout(Stdio::piped()).spawn().unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let datapath = UnixDatagram::bind(folder.path().join("datapath")).unwrap();
    for flow in 1..=24 {
        datapath.send_to(&encoded(&create(flow)), &socket).unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&agent), Signal::TERM).unwrap();
    let start = Instant::now();
    while agent.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(10), "the signal is without effect");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!socket.exists());
}

#[test]
fn the_flows_of_a_datapath_that_has_vanished_are_ended() {
    let (folder, socket) = place();
    let agent = Agent::start(&socket, &["--interval", "0.1"]);
    let path = folder.path().join("datapath");
    let datapath = UnixDatagram::bind(&path).unwrap();
    for flow in 1..=3 {
        datapath.send_to(&encoded(&create(flow)), &socket).unwrap();
    }
    agent.prints("flows: 3, ended: 0");
    drop(datapath);
    agent.prints("flows: 0, ended: 3; vanished datapaths: 1");
    assert!(agent.ends_well());
}

/// A ring holds thousands of messages, and the agent goes on to serve others meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn the_flows_of_a_process_that_shared_memory_end_with_it() {
    let (folder, socket) = place();
    let agent = Agent::start(&socket, &["--interval", "0.1"]);
    let datapath = shared(&memory(&socket)).await;
    for flow in 1..=3 {
        datapath.send(Buf::copy_of(&encoded(&create(flow)), 0).unwrap()).await.unwrap();
    }
    agent.prints("flows: 3, ended: 0");
    let flood = async {
        let message = encoded(&Message::Ready(Ready { id: 1 }));
        let flooding = shared(&memory(&socket)).await;
        loop {
            flooding.send(Buf::copy_of(&message, 0).unwrap()).await.unwrap();
        }
    };
    let served = async {
        let control = Way::Memory.control(&folder, &socket);
        let transfer = Transfer::begin(control.clone()).await;
        until_by_agent(&control, 1).await;
        transfer.continues(500).await;
        transfer.end().await;
    };
    tokio::select! {
        () = served => {}
        () = flood => {}
    }
    // As the kernel does for a process that is killed.
    drop(datapath);
    agent.prints("flows: 0, ended: 4; vanished datapaths: 1");
    assert!(agent.ends_well());
}
