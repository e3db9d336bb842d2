//! Agents, good and bad, in control of flows.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print figures")]

use crate::agent::{self, Aimd, UnixAgent};
use crate::compiled::compile;
use bertha_ccp::message::{Change, Field, Message, Register};
use bertha_ccp::{AgentEnd, Ccp, Limits, Pace, Refusal, Refused, Signal, SignalSet, algorithms};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, FixedWindow, Flow, NewFlow, NewReno};
use bertha_core::{Addr, Buf, Connection, Datapath as _, Listener, Wrap};
use bertha_datapath_sim::{Bottleneck, Link, Sim};
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::time::Duration;

const PACKET: u64 = 1_352;

/// Acknowledges one packet at `ms` milliseconds.
fn acknowledge(control: &mut dyn CongestionControl, ms: u64) {
    let now = Duration::from_millis(ms);
    let sent = Some(now.saturating_sub(Duration::from_millis(20)));
    let ack = Ack { bytes_acked: PACKET, packets_acked: 1, now, newest_acked_sent: sent, ..Ack::default() };
    let flow = Flow { rtt_sample_us: 20_000, bytes_in_flight: 10 * PACKET, ..Flow::default() };
    control.on_ack(&ack, &flow);
}

/// Sends for four seconds over 12 Mbit/s, 20 ms and a queue of a bandwidth-delay product, and returns the
/// share of the link that was used.
fn utilisation(algorithm: impl Algorithm, seed: u64) -> f64 {
    let (client_host, server_host) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut sim = Sim::new(seed).step_limit(u64::MAX);
    let network = sim.network().clone();
    let (rate, delay, seconds) = (1_500_000, Duration::from_millis(10), 4);
    let bottleneck = Some(Bottleneck { rate, queue: 30_000 });
    network.set_link_between(client_host, server_host, Link { delay, bottleneck, ..Link::default() });
    network.set_link_between(server_host, client_host, Link { delay, ..Link::default() });
    sim.run(async move {
        let stack = Reliable::new().with(algorithm);
        let listener = network.host(server_host).listen(Addr::Ip((server_host, 7).into())).await.unwrap();
        let client = network.host(client_host).connect(listener.local_addr()).await.unwrap();
        let client = stack.wrap(client).await.unwrap();
        client.send(Buf::new(8, 0).unwrap()).await.unwrap();
        let server = Reliable::new().wrap(listener.accept().await.unwrap()).await.unwrap();
        let mut received = 0;
        let sending = async {
            loop {
                client.send(Buf::new(1_337, 0).unwrap()).await.unwrap();
            }
        };
        let receiving = async {
            loop {
                received += server.recv().await.unwrap().len() as u64;
            }
        };
        tokio::select! {
            () = sending => {}
            () = receiving => {}
            () = network.runtime().sleep(Duration::from_secs(seconds)) => {}
        }
        received as f64 / (rate * seconds) as f64
    })
}

#[test]
fn an_unchanged_algorithm_of_portus_drives_reliable() {
    let shares: Vec<f64> = (0..2)
        .map(|_| {
            let (ccp, end) = Ccp::in_process(Pace::Lockstep);
            let agent = Aimd::spawn(end);
            let share = utilisation(ccp, 7);
            let reports = agent.stop();
            assert!(reports > 100, "{reports} reports");
            share
        })
        .collect();
    assert!(shares[0] > 0.7, "it used {} of the link", shares[0]);
    // The same seed gives the same run, agent included.
    assert_eq!(shares[0].to_bits(), shares[1].to_bits());
    // If the agent ignored losses, it would use more or collapse; if it slept, it would use the share of
    // NewReno.
    assert_ne!(shares[0].to_bits(), utilisation(NewReno, 7).to_bits());
}

/// Returns the share of the link that an algorithm of an agent uses.
fn by_agent<A: portus::CongAlg<AgentEnd> + Send + 'static>(algorithm: A) -> f64 {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
    let agent = agent.spawn_thread().run().unwrap();
    let share = utilisation(ccp, 7);
    agent.kill();
    agent.wait().unwrap_or_default();
    share
}

#[test]
fn every_algorithm_uses_the_link() {
    let shares = [
        ("NewReno", by_agent(algorithms::NewReno)),
        ("Cubic", by_agent(algorithms::Cubic::default())),
        ("Vegas", by_agent(algorithms::Vegas::default())),
        ("Copa", by_agent(algorithms::Copa::default())),
        ("BBR", by_agent(algorithms::Bbr)),
    ];
    println!("{shares:?}");
    for (name, share) in shares {
        assert!(share > 0.8, "{name} uses {share:.3} of the link");
    }
}

#[test]
fn an_agent_behind_a_socket_takes_over_and_its_end_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent");
    let ccp = Ccp::unix(folder.path().join("datapath"), &path).unwrap();
    let mut control = ccp.start(PACKET);
    let mut alone = NewReno.start(PACKET);
    for ms in 0..50 {
        acknowledge(&mut *control, ms);
        acknowledge(&mut *alone, ms);
    }
    assert_eq!(control.window(), alone.window());

    // The agent comes late, and learns of the flow when the flow is announced again.
    let agent = UnixAgent::bind(&path);
    acknowledge(&mut *control, 200);
    let (create, datapath) = agent.created();
    assert_eq!((create.initial_window, create.packet), (13_520, 1_352));
    let install = compile("(def (Report (x 0))) (when true (:= Cwnd 50000) (:= Rate 2000000) (report))");
    let program = install.program;
    agent.send(&Message::Install(install), &datapath);
    agent.send(&Message::Change(Change { flow: create.flow, program, fields: Vec::new() }), &datapath);
    let mut ms = 200;
    while control.window() != 50_000 {
        ms += 1;
        assert!(ms < 100_000, "the program never came");
        acknowledge(&mut *control, ms);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(control.rate(), Some(2_000_000));

    drop(agent);
    std::fs::remove_file(&path).unwrap();
    acknowledge(&mut *control, ms + 1);
    acknowledge(&mut *control, ms + 2);
    assert_eq!(control.rate(), None);
    assert!(control.window() < 20_000, "{control:?}");
}

#[test]
fn a_silent_agent_is_replaced_and_can_come_back() {
    let (link, datapath) = agent::recording();
    let ccp = Ccp::over(datapath.clone()).agent_timeout(Duration::from_secs(1));
    let mut control = ccp.start(PACKET);
    let install = compile("(def (Report (x 0))) (when true (:= Cwnd 90000) (report))");
    let program = install.program;
    let change = Message::Change(Change { flow: 1, program, fields: Vec::new() });
    agent::hand(&datapath, &[Message::Install(install), change.clone()]);
    acknowledge(&mut *control, 0);
    assert_eq!(control.window(), 90_000);
    acknowledge(&mut *control, 1_000);
    assert_eq!(control.window(), 90_000);
    acknowledge(&mut *control, 1_001);
    assert!(control.window() < 20_000, "{control:?}");
    // The flow was announced at first, and is announced again.
    assert_eq!(link.created(), 2);
    agent::hand(&datapath, &[change]);
    acknowledge(&mut *control, 1_002);
    assert_eq!(control.window(), 90_000);
    drop(control);
    assert!(link.is_closed(1));
}

#[test]
fn the_rate_of_the_fallback_ends_with_it() {
    let (_link, datapath) = agent::recording();
    let ccp = Ccp::over(datapath.clone()).fallback(FixedWindow(u64::MAX));
    let mut control = ccp.start(PACKET);
    acknowledge(&mut *control, 0);
    assert_eq!((control.window(), control.rate()), (u64::MAX, Some(u64::MAX)));
    let install = compile("(def (Report (x 0))) (when true (:= Cwnd 90000))");
    let program = install.program;
    let change = Message::Change(Change { flow: 1, program, fields: Vec::new() });
    agent::hand(&datapath, &[Message::Install(install), change]);
    acknowledge(&mut *control, 1);
    assert_eq!((control.window(), control.rate()), (90_000, None));
}

/// The queue of a Unix socket holds ten messages.
#[test]
fn an_agent_whose_queue_is_full_keeps_its_flow_and_misses_nothing() {
    let (link, datapath) = agent::recording();
    let ccp = Ccp::over(datapath.clone()).agent_timeout(Duration::from_secs(1));
    let mut control = ccp.start(PACKET);
    let count = "(def (Report (volatile acked 0))) (when true (:= Report.acked (+ Report.acked Ack.packets_acked)) (:= Cwnd 90000) (report))";
    let install = compile(count);
    let program = install.program;
    agent::hand(
        &datapath,
        &[Message::Install(install), Message::Change(Change { flow: 1, program, fields: Vec::new() })],
    );
    acknowledge(&mut *control, 0);
    link.set_full(true);
    (1..=4).for_each(|ms| acknowledge(&mut *control, ms));
    assert_eq!((control.window(), ccp.statistics().by_agent), (90_000, 1));
    link.set_full(false);
    (5..=6).for_each(|ms| acknowledge(&mut *control, ms));
    assert_eq!(link.reports(), [[1], [5], [1]]);
    link.set_full(true);
    acknowledge(&mut *control, 1_001);
    acknowledge(&mut *control, 1_002);
    assert_eq!(ccp.statistics().by_agent, 0, "it is silent for a second");
}

#[test]
fn no_agent_exceeds_the_limits_or_stops_a_flow() {
    let (_link, datapath) = agent::recording();
    let ccp = Ccp::over(datapath.clone()).limits(Limits { window: 100_000, rate: 1_000_000 });
    let mut control = ccp.start(PACKET);
    let install = compile("(def (Report (x 0)) (w 1) (r 1)) (when true (:= Cwnd w) (:= Rate r))");
    let program = install.program;
    let fields = |window, rate| {
        let register = |index| Register::Control { index, is_volatile: false };
        vec![Field { register: register(0), value: window }, Field { register: register(1), value: rate }]
    };
    agent::hand(&datapath, &[Message::Install(install)]);
    for value in [u64::MAX, 1 << 40, 1 << 32, u64::from(u32::MAX)] {
        let fields = fields(value, value);
        agent::hand(&datapath, &[Message::Change(Change { flow: 1, program, fields })]);
        acknowledge(&mut *control, 1);
        assert_eq!((control.window(), control.rate()), (100_000, Some(1_000_000)));
    }
    let fields = fields(1, 1);
    agent::hand(&datapath, &[Message::Change(Change { flow: 1, program, fields })]);
    acknowledge(&mut *control, 2);
    assert_eq!((control.window(), control.rate()), (2 * PACKET, Some(4 * PACKET)));
}

#[test]
fn a_program_whose_signals_are_missing_is_refused_by_name() {
    let (_link, datapath) = agent::recording();
    let install = compile("(def (Report (marked 0))) (when (< Ack.ecn_packets 1) (:= Cwnd 70000))");
    let program = install.program;
    let change = |flow| Message::Change(Change { flow, program, fields: Vec::new() });
    let ccp = Ccp::over(datapath.clone());
    let marked = NewFlow { has_marks: true, ..NewFlow::unnamed(PACKET) };
    let (mut with, mut without) = (ccp.start_flow(&marked), ccp.start(PACKET));
    agent::hand(&datapath, &[Message::Install(install), change(1)]);
    assert_eq!(datapath.refusals(), []);
    agent::hand(&datapath, &[change(2)]);
    let missing = Refused::MissingSignals(SignalSet::default().with(Signal::EcnPackets));
    assert_eq!(datapath.refusals(), [Refusal { program, reason: missing }]);
    assert!(missing.to_string().contains("Ack.ecn_packets"), "{missing}");
    (0..20).for_each(|ms| acknowledge(&mut *without, ms));
    assert_eq!(with.window(), 10 * PACKET);
    acknowledge(&mut *with, 0);
    assert_eq!(with.window(), 70_000);
    assert_eq!(without.window(), 30 * PACKET, "NewReno");
}
