//! The store in memory, in virtual time.

use bertha_conformance::stores::{StoreSite, store};
use bertha_datapath_sim::{Schedule, Sim};
use bertha_negotiation::rendezvous::MemoryStore;

#[test]
fn memory() {
    for seed in 0..20 {
        for schedule in [Schedule::Random, Schedule::Fifo] {
            let mut sim = Sim::new(seed).schedule(schedule);
            let runtime = sim.runtime();
            let memory = MemoryStore::new(runtime.clone());
            sim.run(store(&StoreSite { store: &memory, runtime: &runtime }));
        }
    }
}
