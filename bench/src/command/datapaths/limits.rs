//! What bounds the store over any datapath, and what negotiation and Chunnels add.

use bertha_bench::baseline::kv_raw::Setup;
use bertha_bench::datapaths::lockstep;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::median;
use bertha_bench::stepping::Stepper;
use bertha_bench::{Error, cores};
use std::time::Duration;

/// Memif against kernel UDP.
const THREEFOLD: f64 = 3.0;

/// Memif against memory, where client and store are the limit.
const NEAR_MEMORY: f64 = 0.8;

/// How memif compares with another datapath.
#[derive(Clone, Copy)]
pub(super) struct Against {
    /// Requests that the other answers per second.
    pub(super) other: f64,
    /// Requests over memif, beside it.
    pub(super) memif: f64,
    /// The upper end of the ratio of the two.
    pub(super) high: f64,
}

/// What client and store need for a request, in nanoseconds: by themselves, and with their halves of memif.
pub(super) struct OwnWork {
    client: Ends,
    store: Ends,
}

/// What one end needs for a request.
struct Ends {
    own: f64,
    over_memif: f64,
}

/// What client and store execute per request, both together, without negotiation and Chunnels and with.
pub(super) fn instructions(requests: u64, report: &mut Report) -> Result<(), Error> {
    let stepper = Stepper::of_this_program()?;
    let core = cores::usable()?[0];
    // On one core, since probe and counter take turns.
    let count = |probe| cores::run_on(core, || stepper.per_iteration(probe, requests));
    let (bare, negotiated) = (count("datapaths-memif-bare")?, count("datapaths-memif")?);
    report.figure("bare memif, both ends, per request", bare, "instructions");
    report.figure("memif, both ends, per request", negotiated, "instructions");
    report.bounded("instructions, memif to bare memif", negotiated / bare, "x", Budget::AtMost(1.03));
    Ok(())
}

/// Times the two in turn, on one core: with a queue in memory between them, and with memif.
pub(super) fn own_work(
    setup: &Setup,
    samples: usize,
    memif: impl Fn(&Setup) -> Result<lockstep::OwnWork, Error> + Sync,
    report: &mut Report,
) -> Result<OwnWork, Error> {
    let core = cores::usable()?[0];
    let (mut own, mut over_memif) = (Vec::new(), Vec::new());
    for _ in 0..samples.max(1) {
        own.push(cores::run_on(core, || lockstep::in_memory(setup))?);
        over_memif.push(cores::run_on(core, || memif(setup))?);
    }
    let middle = |samples: &[lockstep::OwnWork], time: fn(&lockstep::OwnWork) -> Duration| {
        let each = |sample| time(sample).as_secs_f64() * 1e9 / setup.requests as f64;
        median(&samples.iter().map(each).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let end = |time| Ends { own: middle(&own, time), over_memif: middle(&over_memif, time) };
    let work = OwnWork { client: end(|it| it.client), store: end(|it| it.store) };
    for (who, end) in work.ends() {
        report.figure(format!("{who}'s own work, per request"), end.own, "ns");
        report.figure(format!("{who}'s half of memif, per request"), end.over_memif - end.own, "ns");
    }
    report.figure("throughput, if a datapath cost nothing", work.most(), "ops/s");
    Ok(work)
}

impl OwnWork {
    fn ends(&self) -> [(&str, &Ends); 2] {
        [("client", &self.client), ("store", &self.store)]
    }

    /// The most requests per second, if client and store did nothing else, each on its core.
    fn most(&self) -> f64 {
        1e9 / self.client.own.max(self.store.own)
    }

    /// What each core's time goes to over memif, where both are saturated: what is left waits for the other core, and fetches
    /// what that one has written.
    fn shares(&self, throughput: f64, report: &mut Report) {
        for (who, end) in self.ends() {
            let share = |nanoseconds: f64| nanoseconds * throughput / 1e9;
            let (own, half) = (share(end.own), share(end.over_memif - end.own));
            let parts = [("own work", own), ("its half of memif", half), ("the rest", 1.0 - own - half)];
            for (part, share) in parts {
                report.figure(format!("{who}'s core over memif, both saturated: {part}"), share, "x");
            }
        }
    }

    /// Holds memif against kernel UDP or memory, whichever it is nearer to what it promises; and against memory at its best,
    /// where the client is the limit: its own work is most of its time.
    pub(super) fn judge(&self, kernel: Against, memory: Against, best: Against, report: &mut Report) {
        for (throughput, place) in [(kernel.memif, "over memif"), (best.other, "in memory at its best")] {
            let share = |own: f64| own * throughput / 1e9;
            for (who, end) in self.ends() {
                report.figure(format!("{who}'s own work, of its time {place}"), share(end.own), "x");
            }
        }
        self.shares(best.memif, report);
        let nearer = (kernel.high / THREEFOLD).max(memory.high / NEAR_MEMORY);
        let name = "memif to 3 x kernel UDP or 0.8 x memory, the nearer; high end";
        report.bounded(name, nearer, "x", Budget::AtLeast(1.0));
        let name = "memif to memory at its best, both saturated; high end";
        report.bounded(name, best.high, "x", Budget::AtLeast(NEAR_MEMORY));
    }
}
