//! The algorithms by their names, and the thread that runs them.

use crate::settings::Settings;
use bertha_ccp::AgentSocket;
use bertha_ccp::algorithms::{Bbr, Copa, Cubic, Dctcp, NewReno, Nimbus, Vegas};
use bertha_core::{Error, ErrorKind};
use clap::ValueEnum;
use portus::ipc::{BackendBuilder, Ipc};
use portus::{CCPHandle, CongAlg, Datapath, DatapathInfo, Flow, RunBuilder};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// Time between two looks at the thread of the algorithms.
const LOOK: Duration = Duration::from_millis(100);

/// The name of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// A rate from delivery rate and round-trip time.
    Bbr,
    /// A window from the delay in the queue, and from loss where other traffic fills the queue.
    Copa,
    /// Copa that keeps the queue short beside any traffic, for a path of its own.
    CopaDefault,
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic,
    /// A window from the marks of routers (RFC 8257), for networks that mark.
    Dctcp,
    /// Half the window at each loss (RFC 5681).
    Newreno,
    /// A rate from the delay, or from loss where other traffic competes.
    Nimbus,
    /// A window from the delay, steady.
    Vegas,
}

impl Name {
    fn start<I: Ipc>(self, settings: &Settings, datapath: Datapath<I>, info: DatapathInfo) -> Box<dyn Flow> {
        match self {
            Self::Bbr => Box::new(Bbr.new_flow(datapath, info)),
            Self::Copa => Box::new(settings.copa.new_flow(datapath, info)),
            Self::CopaDefault => Box::new(settings.copa_default.new_flow(datapath, info)),
            Self::Cubic => Box::new(settings.cubic.new_flow(datapath, info)),
            Self::Dctcp => Box::new(settings.dctcp.new_flow(datapath, info)),
            Self::Newreno => Box::new(NewReno.new_flow(datapath, info)),
            Self::Nimbus => Box::new(Nimbus.new_flow(datapath, info)),
            Self::Vegas => Box::new(settings.vegas.new_flow(datapath, info)),
        }
    }
}

impl Name {
    /// Returns the name by which flows ask for the algorithm.
    fn requested(self) -> &'static str {
        fn of<A: CongAlg<AgentSocket>>(_: A) -> &'static str {
            A::name()
        }
        match self {
            Self::Bbr => of(Bbr),
            Self::Copa => of(Copa::default()),
            Self::CopaDefault => of(CopaDefault(Copa::default())),
            Self::Cubic => of(Cubic::default()),
            Self::Dctcp => of(Dctcp::default()),
            Self::Newreno => of(NewReno),
            Self::Nimbus => of(Nimbus),
            Self::Vegas => of(Vegas::default()),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

/// Returns the names of all algorithms.
pub(crate) fn names() -> Vec<&'static str> {
    Name::value_variants().iter().map(|name| name.requested()).collect()
}

/// Copa that stays in its default mode, by a name of its own: flows with it and flows with Copa that competes can have one agent.
#[derive(Debug, Clone, Copy)]
struct CopaDefault(Copa);

impl<I: Ipc> CongAlg<I> for CopaDefault {
    type Flow = <Copa as CongAlg<I>>::Flow;

    fn name() -> &'static str {
        "copa-default"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        CongAlg::<I>::datapath_programs(&self.0)
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> Self::Flow {
        self.0.new_flow(datapath, info)
    }
}

/// The algorithm of flows that ask for none. Its programs are those of the algorithm of this name.
struct Default {
    name: Name,
    settings: Settings,
}

impl<I: Ipc> CongAlg<I> for Default {
    type Flow = Box<dyn Flow>;

    fn name() -> &'static str {
        ""
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::new()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> Box<dyn Flow> {
        self.name.start(&self.settings, datapath, info)
    }
}

/// The thread of the algorithms.
pub(crate) struct Running(CCPHandle);

/// Runs all algorithms on a thread, for the datapaths behind `sock`.
///
/// # Errors
/// Fails if the system starts no thread.
pub(crate) fn start<I: Ipc>(sock: I, default: Name, settings: Settings) -> Result<Running, Error> {
    let running = RunBuilder::new(BackendBuilder { sock })
        .default_alg(Default { name: default, settings })
        .additional_alg(Bbr)
        .additional_alg(settings.copa)
        .additional_alg(CopaDefault(settings.copa_default))
        .additional_alg(settings.cubic)
        .additional_alg(settings.dctcp)
        .additional_alg(NewReno)
        .additional_alg(Nimbus)
        .additional_alg(settings.vegas)
        .spawn_thread()
        .run();
    running.map(Running).map_err(|error| Error::new(ErrorKind::Io, error.0).at("CCP"))
}

impl Running {
    /// Waits until the thread has ended, which is an error.
    pub(crate) async fn ended(&self) -> Result<(), Error> {
        while !self.0.join_handle.is_finished() {
            tokio::time::sleep(LOOK).await;
        }
        Err(Error::new(ErrorKind::Io, "the thread of the algorithms has ended; the log has the reason")
            .at("CCP"))
    }

    /// Ends the thread, which removes the socket.
    pub(crate) fn stop(self) {
        self.0.kill();
        if let Err(error) = self.0.wait() {
            tracing::error!(reason = error.0, "the algorithms have failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha::chunnels::congestion::{self, Ack, Algorithm};
    use bertha_ccp::{Ccp, Pace};

    #[test]
    fn each_algorithm_has_the_name_that_flows_ask_for() {
        let all: Vec<String> = Name::value_variants().iter().map(ToString::to_string).collect();
        assert_eq!(all, names());
    }

    /// Returns the share of its window that a flow of Cubic keeps at a loss.
    fn kept(requested: &str, set: &[&str]) -> f64 {
        let set: Vec<_> = set.iter().map(|text| text.parse().unwrap()).collect();
        let (ccp, end) = Ccp::in_process(Pace::Lockstep);
        let running = start(end, Name::Cubic, Settings::new(Copa::default(), &set).unwrap()).unwrap();
        let mut control = ccp.algorithm(requested).unwrap().start(1_000);
        let mut acknowledge = |ms, lost_pkts_sample| {
            let now = Duration::from_millis(ms);
            let ack = Ack { bytes_acked: 1_000, packets_acked: 1, lost_pkts_sample, now, ..Ack::default() };
            let rtt_sample_us = 20_000;
            control.on_ack(&ack, &congestion::Flow { rtt_sample_us, ..congestion::Flow::default() });
            control.window()
        };
        let before = (0..200).map(|ms| acknowledge(ms, 0)).last().unwrap();
        let after = (200..221).map(|ms| acknowledge(ms, u64::from(ms == 200))).min().unwrap();
        drop(control);
        running.stop();
        after as f64 / before as f64
    }

    #[test]
    fn settings_reach_flows_by_name_and_by_default() {
        for requested in ["", "cubic"] {
            assert_eq!(kept(requested, &[]), 0.7, "`{requested}`");
            assert_eq!(kept(requested, &["cubic.beta=0.5", "cubic.beta=0.9"]), 0.9, "`{requested}`");
        }
    }
}
