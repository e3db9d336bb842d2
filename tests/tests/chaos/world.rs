//! The hosts, stores and processes, and what they suffer.

use super::checks::{self, Summary};
use super::history::{self, History, InForce, Line};
use super::network::Network;
use super::process::{Process, signal};
use super::schedule::{Failure, Step, schedule};
use super::services::{Service, Services};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HOSTS: usize = 4;

/// Where streams go to, and from which hosts they come. Participants are on those hosts.
const RECEIVER: usize = 1;
const SENDERS: [usize; 3] = [2, 3, 4];

/// How long all may take to get over it.
const PATIENCE: Duration = Duration::from_secs(120);

// Dropped in this order: processes before the network that they run in.
pub(crate) struct World {
    processes: Vec<Process>,
    services: Services,
    network: Network,
    directory: PathBuf,
}

impl World {
    /// Everything in place, and nothing started.
    ///
    /// # Errors
    /// What this machine or this user can't do.
    pub(crate) fn new() -> Result<Self, String> {
        let directory =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let network = Network::new(HOSTS)?;
        let services = Services::new(network.gateway(), directory.join("services"))?;
        let receiver = format!("{}:4242", network.addr(RECEIVER));
        let mut processes =
            vec![Process::new("receiver".into(), RECEIVER, &["serve", &receiver], directory.clone())];
        for host in SENDERS {
            let name = format!("sender-{host}");
            processes.push(Process::new(name, host, &["stream", &receiver], directory.clone()));
            for service in Service::ALL {
                let arguments = ["participate", &services.url(service), "chaos"];
                processes.push(Process::new(participant(service, host), host, &arguments, directory.clone()));
            }
        }
        Ok(Self { processes, services, network, directory })
    }

    /// Lets things fail for so long, waits until all have got over it, and checks what they have written down.
    #[allow(clippy::print_stdout, reason = "what happened is part of the result")]
    pub(crate) fn suffer(&mut self, seed: u64, lasting: Duration) {
        println!("chaos: seed {seed}, histories in {}", self.directory.display());
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
            self.take(step);
        }
        until(lasting);
        self.settle();
        println!("{:6.2} s all have got over it", begun.elapsed().as_secs_f64());
        self.processes.iter_mut().for_each(Process::kill);
        let summary = self.check().unwrap();
        println!("{summary:?}");
        assert!(summary.complete > 0 && summary.begun > summary.complete, "no stream was interrupted");
        assert!(summary.changes > 0 && summary.commits > 0, "no stack was changed");
        std::fs::remove_dir_all(&self.directory).unwrap();
    }

    fn take(&mut self, Step { failure, begins, .. }: Step) {
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

    /// Waits until every sender has got two more streams through, of which one began after the last failure, and all
    /// participants use the stack that they prefer.
    fn settle(&mut self) {
        let (before, started) = (SENDERS.map(|host| self.complete(host)), Instant::now());
        loop {
            let through = SENDERS.map(|host| self.complete(host));
            let flows = through.iter().zip(&before).all(|(now, before)| *now >= before + 2);
            let agreed = Service::ALL.map(|service| self.agreed(service));
            if flows
                && agreed.iter().flatten().all(|now| now.stack == "Many")
                && agreed.iter().all(Option::is_some)
            {
                return;
            }
            if started.elapsed() > PATIENCE {
                let held = format!("streams {before:?} then {through:?}; in force {agreed:?}");
                // Broken promises say more than that.
                self.processes.iter_mut().for_each(Process::kill);
                self.check().unwrap();
                panic!("they don't get over it: {held}; see {}", self.directory.display());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn complete(&self, host: usize) -> usize {
        let histories = history::read(&self.directory, &format!("sender-{host}"));
        histories.iter().flatten().filter(|line| matches!(line, Line::Complete(..))).count()
    }

    /// What all participants use, if they agree.
    fn agreed(&self, service: Service) -> Option<InForce> {
        let all = SENDERS.map(|host| history::read(&self.directory, &participant(service, host)));
        let mut known = all.iter().map(|histories| checks::in_force_among(SENDERS.len(), histories.last()?));
        let first = known.next()??;
        known.all(|other| other == Some(first)).then(|| first.clone())
    }

    fn check(&self) -> Result<Summary, String> {
        let of = |names: &[String]| -> Vec<History> {
            names.iter().flat_map(|name| history::read(&self.directory, name)).collect()
        };
        let mut summary = Summary::default();
        let streams: Vec<_> =
            SENDERS.iter().map(|host| format!("sender-{host}")).chain(["receiver".into()]).collect();
        let wrong = |what: String| format!("{what}; see {}", self.directory.display());
        checks::streams(&of(&streams), &mut summary).map_err(wrong)?;
        for service in Service::ALL {
            let names = SENDERS.map(|host| participant(service, host));
            checks::rounds(&of(&names), &mut summary).map_err(wrong)?;
        }
        Ok(summary)
    }
}

fn participant(service: Service, host: usize) -> String {
    format!("{}-{host}", service.name())
}
