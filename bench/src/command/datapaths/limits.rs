//! What bounds the store over any datapath, and what negotiation and Chunnels add.

use bertha_bench::baseline::kv_raw::Setup;
use bertha_bench::datapaths::lockstep;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::median;
use bertha_bench::stepping::Stepper;
use bertha_bench::{Error, cores};

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

/// What client and store need for a request by themselves, in nanoseconds.
pub(super) struct OwnWork {
    client: f64,
    store: f64,
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

/// Times the two in turn, on one core and with a queue in memory between them.
pub(super) fn own_work(setup: &Setup, samples: usize, report: &mut Report) -> Result<OwnWork, Error> {
    let core = cores::usable()?[0];
    let (mut clients, mut stores) = (Vec::new(), Vec::new());
    for _ in 0..samples.max(1) {
        let own = cores::run_on(core, || lockstep::in_memory(setup))?;
        let each = |time: std::time::Duration| time.as_secs_f64() * 1e9 / setup.requests as f64;
        clients.push(each(own.client));
        stores.push(each(own.store));
    }
    let middle = |samples: &[f64]| median(samples).unwrap_or(f64::NAN);
    let own = OwnWork { client: middle(&clients), store: middle(&stores) };
    report.figure("client's own work, per request", own.client, "ns");
    report.figure("store's own work, per request", own.store, "ns");
    report.figure("throughput, if a datapath cost nothing", own.most(), "ops/s");
    Ok(own)
}

impl OwnWork {
    /// The most requests per second, if client and store did nothing else, each on its core.
    fn most(&self) -> f64 {
        1e9 / self.client.max(self.store)
    }

    /// Holds memif against kernel UDP or memory, whichever it is nearer to what it promises; and against memory at its best,
    /// where the client is the limit: its own work is most of its time.
    pub(super) fn judge(&self, kernel: Against, memory: Against, best: Against, report: &mut Report) {
        for (throughput, place) in [(kernel.memif, "over memif"), (best.other, "in memory at its best")] {
            let share = |own: f64| own * throughput / 1e9;
            report.figure(format!("client's own work, of its time {place}"), share(self.client), "x");
            report.figure(format!("store's own work, of its time {place}"), share(self.store), "x");
        }
        let nearer = (kernel.high / THREEFOLD).max(memory.high / NEAR_MEMORY);
        let name = "memif to 3 x kernel UDP or 0.8 x memory, the nearer; high end";
        report.bounded(name, nearer, "x", Budget::AtLeast(1.0));
        let name = "memif to memory at its best, both saturated; high end";
        report.bounded(name, best.high, "x", Budget::AtLeast(NEAR_MEMORY));
    }
}
