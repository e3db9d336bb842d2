//! The hosts, stores and processes, and the failures that are done to them.

use super::blame::{self, Injected};
use super::checks::{self, Summary};
use super::history::{self, History, InForce, Line};
use super::network::Network;
use super::process::{Process, signal};
use super::publisher::{Orders, Publisher};
use super::schedule::{Failure, Step, schedule};
use super::services::{Service, Services};
use super::topic;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HOSTS: usize = 4;

/// The host to which streams go. `SENDERS` are the hosts from which streams come; participants are on those
/// hosts.
const RECEIVER: usize = 1;
const SENDERS: [usize; 3] = [2, 3, 4];

/// The hosts of the participants of topics. Some of these participants leave and come again in the end. Up to
/// two participants order their messages by themselves, more participants order them by a sequencer.
const PUBLISHERS: [usize; 4] = [1, 2, 3, 4];
const LEAVERS: [usize; 2] = [3, 4];
const SEQUENCED: &str = "Serialize / SequencerOrdered";
const BY_RECEIVERS: &str = "Serialize / ReceiverOrdered";

/// Time after which all processes must have recovered from the failures.
const TIMEOUT: Duration = Duration::from_secs(120);

// The fields are dropped in this order: processes before the network that they run in, servers before the
// directory with their process ids.
pub(crate) struct World {
    processes: Vec<Process>,
    services: Services,
    network: Network,
    /// The failures so far.
    injected: Vec<Injected>,
    directory: Directory,
}

/// The directory of the histories. Dropping the value removes the directory, unless a test has failed: the
/// histories then show why.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

impl World {
    /// Makes a world in which everything is in place, and no process is started.
    ///
    /// # Errors
    /// The missing ability of this machine or this user.
    pub(crate) fn new() -> Result<Self, String> {
        Publisher::check()?;
        let directory =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let kept = Directory(directory.clone());
        let network = Network::new(HOSTS)?;
        let services = Services::new(network.gateway(), directory.join("services"))?;
        let receiver = format!("{}:4242", network.addr(RECEIVER));
        let mut processes =
            vec![Process::endpoint("receiver".into(), RECEIVER, &["serve", &receiver], directory.clone())];
        for host in SENDERS {
            let name = format!("sender-{host}");
            processes.push(Process::endpoint(name, host, &["stream", &receiver], directory.clone()));
            for service in Service::ALL {
                let arguments = ["participate", &services.url(service), "chaos"];
                let name = participant(service, host);
                processes.push(Process::endpoint(name, host, &arguments, directory.clone()));
            }
        }
        for (service, host) in publishers() {
            let publisher = Publisher {
                number: host,
                store: services.url(service),
                group: format!("239.255.78.1:{}", 7800 + service as u16),
                interface: network.addr(host),
                orders: Orders::default(),
            };
            let name = publisher_name(service, host);
            processes.push(Process::publisher(name, host, publisher, directory.clone()));
        }
        Ok(Self { processes, services, network, injected: Vec::new(), directory: kept })
    }

    /// Makes parts fail for the time `lasting`, waits until all processes have recovered, and checks their
    /// histories.
    #[allow(clippy::print_stdout, reason = "what happened is part of the result")]
    pub(crate) fn suffer(&mut self, seed: u64, lasting: Duration) {
        println!("chaos: seed {seed}, histories in {}", self.directory.0.display());
        self.processes.iter_mut().for_each(|process| process.start(&self.network));
        let begun = Instant::now();
        let until = |at: Duration| std::thread::sleep(at.saturating_sub(begun.elapsed()));
        for step in schedule(seed, lasting, self.processes.len(), HOSTS) {
            until(step.at);
            println!(
                "{:6.2} s {} {:?}",
                begun.elapsed().as_secs_f64(),
                if step.begins { "+" } else { "-" },
                step.failure
            );
            self.processes.iter_mut().for_each(|process| process.revive(&self.network));
            self.take(step);
        }
        until(lasting);
        self.settle();
        self.come_and_go();
        println!("{:6.2} s all have got over it", begun.elapsed().as_secs_f64());
        self.processes.iter_mut().for_each(Process::kill);
        let summary = self.check().unwrap();
        println!("{summary:?}");
        assert!(summary.complete > 0 && summary.begun > summary.complete, "no stream was interrupted");
        assert!(summary.changes > 0 && summary.commits > 0, "no stack was changed");
        assert!(summary.topic_changes > 0 && summary.delivered > 0, "no topic was changed");
    }

    /// Begins or ends a failure, and records the time.
    fn take(&mut self, step: Step) {
        if step.begins {
            self.injected.push(Injected { failure: step.failure, from: now(), to: u64::MAX });
        }
        self.act(step);
        if !step.begins {
            let under_way = self.injected.iter_mut().rfind(|injected| injected.failure == step.failure);
            under_way.unwrap().to = now();
        }
    }

    fn act(&mut self, Step { failure, begins, .. }: Step) {
        match (failure, begins) {
            (Failure::Killed(process), true) => self.processes[process].kill(),
            (Failure::Killed(process), false) => self.processes[process].start(&self.network),
            (Failure::Stopped(process), true) => self.processes[process].stop(),
            (Failure::Stopped(process), false) => self.processes[process].go_on(),
            (Failure::Cut(host), true) => self.network.cut(host),
            (Failure::Blackholed(host), true) => self.network.blackhole(host, &self.network.gateway()),
            (Failure::Cut(host) | Failure::Blackholed(host), false) => self.network.mend(host),
            (Failure::StoreKilled(store), true) => self.services.kill(store),
            (Failure::StoreKilled(store), false) => self.services.start(store).unwrap(),
            (Failure::StoreStopped(store), true) => signal(self.services.pid(store), "STOP"),
            (Failure::StoreStopped(store), false) => signal(self.services.pid(store), "CONT"),
        }
    }

    /// Waits until every sender has completed two more streams, of which the second began after the last
    /// failure, and all participants of connections and topics use the stack that they prefer.
    fn settle(&mut self) {
        let (before, started) = (SENDERS.map(|host| self.complete(host)), Instant::now());
        loop {
            let through = SENDERS.map(|host| self.complete(host));
            let flows = through.iter().zip(&before).all(|(now, before)| *now >= before + 2);
            let agreed = Service::ALL.map(|service| self.agreed(service));
            self.processes.iter_mut().for_each(|process| process.revive(&self.network));
            if flows
                && self.ordered(SEQUENCED, &PUBLISHERS)
                && agreed.iter().flatten().all(|now| now.stack == "Many")
                && agreed.iter().all(Option::is_some)
            {
                return;
            }
            if started.elapsed() > TIMEOUT {
                let topics: Vec<_> = publishers().map(|it| (it, self.active(it, PUBLISHERS.len()))).collect();
                let held =
                    format!("streams {before:?} then {through:?}; in force {agreed:?}, in topics {topics:?}");
                // Broken promises say more than a time-out.
                self.processes.iter_mut().for_each(Process::kill);
                self.check().unwrap();
                panic!("they don't get over it: {held}; see {}", self.directory.0.display());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Has participants of topics leave and come again while nothing fails and all publish, and checks that
    /// no message is lost.
    fn come_and_go(&mut self) {
        let since = Service::ALL.map(|service| topic::latest(&self.topic(service).unwrap()));
        for host in LEAVERS {
            let leavers = self.processes.iter_mut().filter(|process| is_publisher(process, host));
            leavers.for_each(Process::leave);
        }
        self.wait(BY_RECEIVERS, &[1, 2]);
        for (at, host) in LEAVERS.into_iter().enumerate() {
            let leavers = self.processes.iter_mut().filter(|process| is_publisher(process, host));
            leavers.for_each(|process| process.start(&self.network));
            self.wait(SEQUENCED, &PUBLISHERS[..3 + at]);
        }
        // All participants publish to all for some time.
        std::thread::sleep(Duration::from_secs(1));
        self.processes.iter_mut().for_each(Process::hush);
        let (check, started) = (|| self.check_calm(since), Instant::now());
        // Messages on their way arrive.
        while check().is_err() && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(500));
        }
        check().unwrap();
    }

    /// Waits until the topics' participants on these hosts, and no others, use this stack.
    fn wait(&self, stack: &str, hosts: &[usize]) {
        let started = Instant::now();
        while !self.ordered(stack, hosts) {
            let active: Vec<_> = publishers().map(|it| (it, self.active(it, hosts.len()))).collect();
            assert!(started.elapsed() < TIMEOUT, "on hosts {hosts:?} not {stack}, but {active:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn ordered(&self, stack: &str, hosts: &[usize]) -> bool {
        Service::ALL.iter().all(|service| {
            let all: Vec<_> = hosts.iter().map(|host| self.active((*service, *host), hosts.len())).collect();
            all[0].as_ref().is_some_and(|first| first.1 == stack) && all.iter().all(|other| *other == all[0])
        })
    }

    fn active(&self, (service, host): (Service, usize), count: usize) -> Option<(u64, String)> {
        topic::in_force_among(count, &self.directory.0, &publisher_name(service, host))
    }

    fn topic(&self, service: Service) -> Result<Vec<topic::History>, String> {
        let all = PUBLISHERS.map(|host| topic::read(&self.directory.0, &publisher_name(service, host)));
        let all: Result<Vec<_>, _> = all.into_iter().collect();
        all.map(|all| all.into_iter().flatten().collect())
    }

    fn check_calm(&self, since: [u64; 2]) -> Result<(), String> {
        Service::ALL.iter().zip(since).try_for_each(|(service, since)| {
            topic::complete(&self.topic(*service)?, since)
                .map_err(|what| format!("{}: {what}; see {}", service.name(), self.directory.0.display()))
        })
    }

    /// Returns true if a failure concerns the participant on this host in the topic of `service`.
    fn hits(&self, failure: Failure, service: Service, host: usize) -> bool {
        match failure {
            Failure::Killed(process) | Failure::Stopped(process) => {
                self.processes[process].name == publisher_name(service, host)
            }
            Failure::Cut(at) | Failure::Blackholed(at) => at == host,
            Failure::StoreKilled(store) | Failure::StoreStopped(store) => store == service,
        }
    }

    fn complete(&self, host: usize) -> usize {
        let histories = history::read(&self.directory.0, &format!("sender-{host}"));
        histories.iter().flatten().filter(|line| matches!(line, Line::Complete(..))).count()
    }

    /// Returns the stack of all participants, if they agree.
    fn agreed(&self, service: Service) -> Option<InForce> {
        let all = SENDERS.map(|host| history::read(&self.directory.0, &participant(service, host)));
        let mut known = all.iter().map(|histories| checks::in_force_among(SENDERS.len(), histories.last()?));
        let first = known.next()??;
        known.all(|other| other == Some(first)).then(|| first.clone())
    }

    fn check(&self) -> Result<Summary, String> {
        let of = |names: &[String]| -> Vec<History> {
            names.iter().flat_map(|name| history::read(&self.directory.0, name)).collect()
        };
        let mut summary = Summary::default();
        let streams: Vec<_> =
            SENDERS.iter().map(|host| format!("sender-{host}")).chain(["receiver".into()]).collect();
        let wrong = |what: String| format!("{what}; see {}", self.directory.0.display());
        checks::streams(&of(&streams), &mut summary).map_err(wrong)?;
        for service in Service::ALL {
            let names = SENDERS.map(|host| participant(service, host));
            checks::rounds(&of(&names), &mut summary).map_err(wrong)?;
            let topic = self.topic(service)?;
            topic::in_order(&topic, &mut summary).map_err(wrong)?;
            let hits = |failure, participant| self.hits(failure, service, Publisher::host(participant));
            summary.put_down += blame::tie(&topic, &self.injected, hits)
                .map_err(|what| wrong(format!("{}: {what}", service.name())))?;
        }
        Ok(summary)
    }
}

/// Returns the time of the clock of all hosts, in nanoseconds. Participants of topics record this time.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn participant(service: Service, host: usize) -> String {
    format!("{}-{host}", service.name())
}

/// Returns the participants of topics.
fn publishers() -> impl Iterator<Item = (Service, usize)> {
    Service::ALL.into_iter().flat_map(|service| PUBLISHERS.map(|host| (service, host)))
}

fn publisher_name(service: Service, host: usize) -> String {
    format!("{}-topic-{host}", service.name())
}

fn is_publisher(process: &Process, host: usize) -> bool {
    Service::ALL.iter().any(|service| process.name == publisher_name(*service, host))
}
