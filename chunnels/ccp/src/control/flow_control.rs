//! The control of one flow: by its program, or by its fallback while there is no agent.

use super::presence::Presence;
use super::{Limits, Settings};
use crate::Signals;
use crate::datapath::{Datapath, Member, WITH_MARKS, WITHOUT_MARKS};
use crate::message::{Create, MAX_FIELDS, Measure};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow, NewFlow, NewReno};
use bertha_core::{Addr, ErrorKind};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) struct FlowControl {
    datapath: Arc<Datapath>,
    member: Arc<Member>,
    create: Create,
    settings: Settings,
    packet: u64,
    /// The window in bytes.
    window: u64,
    /// The rate in bytes per second.
    rate: Option<u64>,
    rtt_us: u64,
    presence: Presence,
    /// True if people know that the agent does not answer.
    has_told: bool,
    /// The control that is used while there is no agent.
    fallback: Option<Box<dyn CongestionControl>>,
    /// The buffer for reports, so that no report allocates.
    message: Vec<u8>,
}

impl FlowControl {
    pub(super) fn new(datapath: Arc<Datapath>, settings: Settings, flow: &NewFlow) -> Self {
        let NewFlow { packet, ref local, ref peer, has_marks } = *flow;
        let member = Arc::new(Member::new(if has_marks { WITH_MARKS } else { WITHOUT_MARKS }));
        let flow = datapath.join(member.clone());
        // Agents expect a window of some packets, whatever the fallback's window is.
        let window = NewReno.start(packet).window();
        let fallback = settings.fallback.start(packet);
        let ((source_address, source_port), (destination_address, destination_port)) =
            (ipv4(local), ipv4(peer));
        let create = Create {
            flow,
            initial_window: u32::try_from(window).unwrap_or(u32::MAX),
            packet: u32::try_from(packet).unwrap_or(u32::MAX),
            source_address,
            source_port,
            destination_address,
            destination_port,
            algorithm: settings.algorithm,
        };
        let has_told = match datapath.announce(&create) {
            Err(error) if error.kind() != ErrorKind::Exhausted => {
                let fallback = &settings.fallback;
                if datapath.may_tell_absence() {
                    tracing::warn!(flow = create.flow, %error, "CCP: {fallback:?} controls flows until there is an agent");
                }
                true
            }
            _ => false,
        };
        Self {
            datapath,
            member,
            create,
            settings,
            packet,
            window,
            rate: None,
            rtt_us: 0,
            presence: Presence::new(),
            has_told,
            fallback: Some(fallback),
            message: Vec::with_capacity(16 + 8 * MAX_FIELDS),
        }
    }

    /// Runs the program, and sends its report.
    fn run(&mut self, signals: &Signals, ack: &Ack) {
        let mut flow = self.member.flow.lock();
        let decision = flow.on_ack(signals, self.window, self.rate.unwrap_or(0));
        self.window = decision.window.unwrap_or(self.window);
        self.rate = decision.rate.or(self.rate);
        if let Some(fault) = decision.fault {
            tracing::debug!(flow = self.create.flow, %fault, "CCP: a program ended early");
        }
        let Some(report) = decision.report else { return };
        self.message.clear();
        let encoded =
            Measure::encode_fields(self.create.flow, report.program, report.fields, &mut self.message);
        // The answer may come before `send` returns, and locks the flow.
        drop(flow);
        if encoded.is_ok() {
            let sent = self.datapath.send(&self.message);
            // What the agent did not take is part of the next report.
            if sent.is_ok() {
                self.member.flow.lock().on_reported();
            }
            self.presence.on_reported(&sent, ack.now);
        }
    }

    /// Tells people that the agent does not answer, once until it controls the flow again.
    fn tell_silence(&mut self) {
        if !std::mem::replace(&mut self.has_told, true) && self.datapath.may_tell_absence() {
            let agent = self.datapath.agent();
            let fallback = &self.settings.fallback;
            tracing::warn!(
                flow = self.create.flow,
                agent,
                "CCP: the agent does not answer; {fallback:?} controls the flow"
            );
        }
    }
}

impl CongestionControl for FlowControl {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.rtt_us = flow.rtt_sample_us;
        self.presence.on_heard(self.member.messages.load(Ordering::Acquire));
        let is_present =
            self.member.flow.lock().has_program() && !self.presence.is_silent(self.settings.timeout, ack.now);
        if is_present {
            if self.fallback.take().is_some() {
                // The fallback's rate would outlive it under an agent that sets windows alone.
                self.rate = None;
                self.member.is_by_agent.store(true, Ordering::Relaxed);
                self.has_told = false;
                tracing::info!(
                    flow = self.create.flow,
                    agent = self.datapath.agent(),
                    "CCP: the agent controls the flow"
                );
            }
            self.run(&signals(ack, flow), ack);
            return;
        }
        if self.presence.is_silent(self.settings.timeout, ack.now) {
            self.tell_silence();
        }
        let fallback = self.fallback.get_or_insert_with(|| {
            self.member.is_by_agent.store(false, Ordering::Relaxed);
            self.settings.fallback.start(self.packet)
        });
        fallback.on_ack(ack, flow);
        (self.window, self.rate) = (fallback.window(), fallback.rate());
        if self.presence.is_repeat_due(ack.now) {
            let sent = self.datapath.announce(&self.create);
            self.presence.on_sent(&sent, ack.now);
        }
    }

    fn window(&self) -> u64 {
        self.limits().window(self.window, self.packet)
    }

    fn rate(&self) -> Option<u64> {
        self.limits().rate(self.rate, self.window(), self.rtt_us, self.packet)
    }
}

impl FlowControl {
    fn limits(&self) -> Limits {
        self.settings.limits
    }
}

impl Drop for FlowControl {
    fn drop(&mut self) {
        self.datapath.leave(self.create.flow);
    }
}

impl fmt::Debug for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowControl")
            .field("flow", &self.create.flow)
            .field("window", &self.window)
            .field("rate", &self.rate)
            .field("is_fallback", &self.fallback.is_some())
            .finish_non_exhaustive()
    }
}

/// Returns an IPv4 address and its port as numbers. Messages have no space for other addresses, which become
/// zeros.
fn ipv4(addr: &Addr) -> (u32, u32) {
    match addr {
        Addr::Ip(addr) => match addr.ip().to_canonical() {
            IpAddr::V4(ip) => (ip.to_bits(), u32::from(addr.port())),
            IpAddr::V6(_) => (0, 0),
        },
        _ => (0, 0),
    }
}

fn signals(ack: &Ack, flow: &Flow) -> Signals {
    Signals {
        bytes_acked: ack.bytes_acked,
        bytes_misordered: ack.bytes_misordered,
        ecn_bytes: ack.ecn_bytes,
        ecn_packets: ack.ecn_packets,
        lost_pkts_sample: ack.lost_pkts_sample,
        now: ack.now.as_micros() as u64,
        packets_acked: ack.packets_acked,
        packets_misordered: ack.packets_misordered,
        bytes_in_flight: flow.bytes_in_flight,
        bytes_pending: flow.bytes_pending,
        packets_in_flight: flow.packets_in_flight,
        rate_incoming: flow.rate_incoming,
        rate_outgoing: flow.rate_outgoing,
        rtt_sample_us: flow.rtt_sample_us,
        was_timeout: u64::from(flow.was_timeout),
    }
}
