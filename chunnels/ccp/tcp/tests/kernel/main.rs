//! The kernel's TCP under agents, good and bad. The tests need root, and are skipped without it.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and tell what they skip")]

mod agent;
mod flow;

use agent::{AFTER_TIME_OUT, Agent, place};
use bertha_ccp::Limits;
use bertha_ccp_tcp::TcpControl;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow, NewReno};
use flow::{Registered, Transfer, until};
use rustix::process::Signal;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A window in bytes that is no window of Reno.
const WINDOW: u32 = 1_900_000;

/// The rate of each of many flows, in bytes per second.
const RATE_OF_MANY: u32 = 1_000_000;

/// The time after which an agent that gives no answer counts as gone.
const IMPATIENT: Duration = Duration::from_millis(300);

/// Waits until the window of the kernel is this number of bytes.
fn until_window(transfer: &Transfer, bytes: u64) {
    until("the agent's window", || {
        let (packets, packet) = transfer.window();
        packets == bytes / packet
    });
}

#[test]
fn the_kernel_has_the_window_and_the_rate_of_an_agent_that_comes_goes_and_sleeps() {
    let (folder, ccp) = place(IMPATIENT);
    let Some(registered) = Registered::new(ccp.clone(), Limits::NONE) else { return };
    // The flow begins without an agent.
    let transfer = Transfer::begin(&registered.name, HOST);
    transfer.continues(1 << 20);
    let first = Agent::start(&folder, &[("Cwnd", WINDOW), ("Rate", 20_000_000)]);
    until_window(&transfer, WINDOW.into());
    until("the agent's rate", || transfer.told("pacing_rate ") == 160_000_000);
    drop(first);
    until("the end of the agent", || ccp.statistics().by_agent == 0);
    transfer.continues(1 << 20);
    let second = Agent::start(&folder, &[("Cwnd", WINDOW / 2)]);
    until_window(&transfer, u64::from(WINDOW) / 2);
    second.signal(Signal::STOP);
    until("the sleep of the agent", || ccp.statistics().by_agent == 0);
    transfer.continues(1 << 20);
    second.signal(Signal::CONT);
    until_window(&transfer, u64::from(WINDOW) / 2);
    transfer.continues(1 << 20);
    transfer.end();
    until("the end of the flow", || registered.control.statistics().flows == 0);
    assert_eq!(ccp.statistics().flows, 0);
}

#[test]
fn no_agent_leaves_the_limits() {
    for (asked, bytes) in [(u32::MAX, 500_000), (1, 0)] {
        let (folder, ccp) = place(IMPATIENT);
        let limits = Limits { window: 500_000, rate: 50_000_000 };
        let Some(registered) = Registered::new(ccp, limits) else { return };
        let _agent = Agent::start(&folder, &[("Cwnd", asked), ("Rate", u32::MAX)]);
        let transfer = Transfer::begin(&registered.name, Ipv6Addr::LOCALHOST);
        until("the limit of the window", || {
            let (packets, packet) = transfer.window();
            packets == (bytes / packet).max(2)
        });
        until("the limit of the rate", || transfer.told("pacing_rate ") == 400_000_000);
        transfer.continues(1 << 20);
        transfer.end();
    }
}

#[test]
fn the_limit_of_the_rate_holds_without_a_rate_of_the_agent() {
    let (folder, ccp) = place(IMPATIENT);
    let limits = Limits { window: 500_000, rate: 50_000_000 };
    let Some(registered) = Registered::new(ccp, limits) else { return };
    let _agent = Agent::start(&folder, &[("Cwnd", u32::MAX)]);
    let transfer = Transfer::begin(&registered.name, HOST);
    until("the limit of the rate", || transfer.told("pacing_rate ") == 400_000_000);
    transfer.continues(1 << 20);
    transfer.end();
}

#[test]
fn an_agent_controls_64_flows() {
    // Agents of many flows on a busy machine are slow.
    let (folder, ccp) = place(Duration::from_secs(10));
    // Flows that the agent has not answered yet leave processors to it.
    let limits = Limits { rate: RATE_OF_MANY.into(), ..Limits::NONE };
    let Some(registered) = Registered::new(ccp.clone(), limits) else { return };
    let _agent = Agent::start(&folder, &[("Cwnd", WINDOW), ("Rate", RATE_OF_MANY)]);
    let transfers: Vec<_> = (0..64).map(|_| Transfer::begin(&registered.name, HOST)).collect();
    until("the agent", || ccp.statistics().by_agent == 64);
    assert_eq!(registered.control.statistics().flows, 64);
    for transfer in &transfers {
        until_window(transfer, WINDOW.into());
        transfer.continues(1);
    }
    // What they have to send takes seconds, and they do so at the same time.
    transfers.iter().for_each(Transfer::stop);
    transfers.into_iter().for_each(Transfer::end);
    registered.until_all_ended();
}

#[test]
fn the_kernel_controls_a_flow_after_a_time_out_until_the_agent_knows_of_it() {
    let (folder, ccp) = place(Duration::from_secs(10));
    let Some(registered) = Registered::new(ccp.clone(), Limits::NONE) else { return };
    let fields = [("Cwnd", WINDOW), (AFTER_TIME_OUT, WINDOW / 2)];
    let _agent = Agent::start(&folder, &fields);
    let transfer = Transfer::begin(&registered.name, HOST);
    until_window(&transfer, WINDOW.into());
    transfer.continues(1 << 20);
    let alone = || registered.control.statistics().acks_alone;
    let before = alone();
    transfer.interrupt();
    until("the time-out", || transfer.window().0 == 1);
    transfer.resume();
    until_window(&transfer, u64::from(WINDOW) / 2);
    transfer.continues(1 << 20);
    assert!(alone() > before, "the kernel obeyed a decision from before the time-out");
    let obeyed = registered.control.statistics().acks_obeyed;
    until("acknowledgements under the agent", || registered.control.statistics().acks_obeyed > obeyed);
    assert_eq!(ccp.statistics().by_agent, 1);
    transfer.end();
}

/// A control that allows four packets per second, and waits while the test holds the lock.
#[derive(Debug, Clone)]
struct Waiting(Arc<Mutex<()>>);

impl Algorithm for Waiting {
    fn start(&self, _: u64) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl CongestionControl for Waiting {
    fn on_ack(&mut self, _: &Ack, _: &Flow) {
        drop(self.0.lock().unwrap());
    }

    fn window(&self) -> u64 {
        0
    }

    fn rate(&self) -> Option<u64> {
        Some(0)
    }
}

#[test]
fn the_kernel_takes_over_from_a_control_that_hangs() {
    let waiting = Waiting(Arc::default());
    let lock = waiting.0.clone();
    let Some(registered) = Registered::new(waiting, Limits::NONE) else { return };
    let transfer = Transfer::begin(&registered.name, HOST);
    until("the window of two packets", || transfer.window().0 == 2);
    let held = lock.lock().unwrap();
    until("a window of Reno", || transfer.window().0 > 20);
    transfer.continues(64 << 20);
    drop(held);
    until("the window of two packets", || transfer.window().0 == 2);
    let held = lock.lock().unwrap();
    transfer.end();
    drop(held);
}

#[test]
fn a_name_is_free_again_after_the_registration_and_its_flows_go_on() {
    let Some(registered) = Registered::new(NewReno, Limits::NONE) else { return };
    let Registered { control, name } = registered;
    assert!(control.is_registered());
    for taken in [&name, "reno"] {
        let error = TcpControl::register(taken, NewReno, Limits::NONE).unwrap_err();
        assert!(error.to_string().contains(taken), "{error}");
    }
    let transfer = Transfer::begin(&name, HOST);
    transfer.continues(1 << 20);
    drop(control);
    transfer.continues(64 << 20);
    let _again = TcpControl::register(&name, NewReno, Limits::NONE).unwrap();
    transfer.continues(1 << 20);
    transfer.end();
}
