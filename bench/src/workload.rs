//! What is asked of a key-value store: the mix of YCSB's workload B, made before the clock starts.

use bertha_kvstore::Message;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// The shape of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Records in the store; at least one is made.
    pub records: usize,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// The share of reads, from 0 to 1; the rest are updates of the whole value.
    pub reads: f64,
    /// Fixes the order of the operations.
    pub seed: u64,
}

impl Default for Workload {
    /// Workload B over a thousand records of 100 bytes.
    fn default() -> Self {
        Self { records: 1000, value_bytes: 100, reads: 0.95, seed: 1 }
    }
}

/// The exponent of YCSB's zipfian distribution.
const SKEW: f64 = 0.99;

/// Operations before a script starts over.
const SCRIPT_LENGTH: usize = 1 << 16;

/// What one shard is asked: requests that are complete but for their id.
#[derive(Clone, Debug)]
pub struct Script {
    load: Vec<Message>,
    requests: Vec<Message>,
    order: Vec<u32>,
}

/// What a shard is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The puts that fill it, each once.
    Load,
    /// The mix of reads and updates, without end.
    Mix,
}

impl Script {
    /// The number of records in this shard.
    pub fn records(&self) -> u64 {
        self.load.len() as u64
    }

    /// The request at a position of the phase, which starts over at its end. Its id is to be set before each use.
    pub fn request(&mut self, phase: Phase, position: u64) -> &mut Message {
        match phase {
            Phase::Load => {
                let records = self.load.len();
                &mut self.load[position as usize % records]
            }
            Phase::Mix => {
                let template = self.order[position as usize % SCRIPT_LENGTH];
                &mut self.requests[template as usize]
            }
        }
    }
}

impl Workload {
    /// One script per shard; a record is asked for at the shard that [`shard_of`] gives it.
    ///
    /// A shard that no record falls to has an empty script, and is left out.
    pub fn scripts(&self, shards: usize) -> Vec<(usize, Script)> {
        let popularity = self.popularity();
        (0..shards.max(1))
            .filter_map(|shard| Some((shard, self.script(shard, shards.max(1), &popularity)?)))
            .collect()
    }

    /// Keys with their weights: the ranks of a zipfian law, dealt out to the records at random.
    fn popularity(&self) -> Vec<(String, f64)> {
        let mut ranks: Vec<usize> = (1..=self.records.max(1)).collect();
        ranks.shuffle(&mut StdRng::seed_from_u64(self.seed));
        let weight = |rank: usize| (rank as f64).powf(-SKEW);
        ranks.into_iter().enumerate().map(|(record, rank)| (key(record), weight(rank))).collect()
    }

    fn script(&self, shard: usize, shards: usize, popularity: &[(String, f64)]) -> Option<Script> {
        let mut draws = StdRng::seed_from_u64(self.seed ^ ((shard as u64 + 1) << 32));
        let own = popularity.iter().filter(|(key, _)| shard_of(key.as_bytes(), shards) == shard);
        let (mut load, mut requests, mut reached, mut sum) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for (key, weight) in own {
            load.push(Message::put(0, key.as_str(), self.value(&mut draws)));
            requests.push(Message::get(0, key.as_str()));
            requests.push(Message::update(0, key.as_str(), 0, self.value(&mut draws)));
            sum += weight;
            reached.push(sum);
        }
        let last = reached.len().checked_sub(1)?;
        let order = (0..SCRIPT_LENGTH).map(|_| {
            let point = draws.random::<f64>() * sum;
            let record = reached.partition_point(|&end| end <= point).min(last);
            (2 * record + usize::from(draws.random::<f64>() >= self.reads)) as u32
        });
        let order = order.collect();
        Some(Script { load, requests, order })
    }

    fn value(&self, draws: &mut StdRng) -> Vec<u8> {
        (0..self.value_bytes).map(|_| draws.random()).collect()
    }
}

/// The shard of a key: FNV-1a of its first four bytes, modulo the number of shards.
pub fn shard_of(key: &[u8], shards: usize) -> usize {
    (fnv1a(key.iter().copied().take(4)) % shards.max(1) as u64) as usize
}

/// Sixteen digits that differ from the first on, so that four bytes of them spread over the shards.
fn key(record: usize) -> String {
    format!("{:016x}", fnv1a(record.to_le_bytes().into_iter()).swap_bytes())
}

fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_kvstore::{Body, Key};
    use std::collections::{HashMap, HashSet};

    #[test]
    fn the_mix_is_that_of_workload_b() {
        let (_, mut script) = Workload::default().scripts(1).remove(0);
        let mut asked = HashMap::<Key, usize>::new();
        let mut updates = 0;
        for position in 0..SCRIPT_LENGTH as u64 {
            let request = script.request(Phase::Mix, position);
            *asked.entry(request.key.clone()).or_default() += 1;
            updates += usize::from(matches!(request.body, Body::Update { .. }));
        }
        let share = |count: usize| count as f64 / SCRIPT_LENGTH as f64;
        assert!((share(updates) - 0.05).abs() < 0.005, "{}", share(updates));
        // The first of a thousand ranks has 1 / (sum of 1 / k^0.99) = 12.8 % of the requests.
        let most = asked.values().max().copied().unwrap();
        assert!((share(most) - 0.128).abs() < 0.01, "{}", share(most));
    }

    #[test]
    fn every_record_is_loaded_into_its_own_shard_once() {
        let mut keys = HashSet::new();
        for (shard, mut script) in Workload::default().scripts(3) {
            for position in 0..script.records() {
                let put = script.request(Phase::Load, position);
                assert_eq!(shard_of(&put.key, 3), shard);
                assert!(keys.insert(put.key.clone()));
            }
        }
        assert_eq!(keys.len(), 1000);
    }

    #[test]
    fn a_shard_without_records_has_no_script() {
        let workload = Workload { records: 1, ..Workload::default() };
        assert_eq!(workload.scripts(4).len(), 1);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
    }
}
