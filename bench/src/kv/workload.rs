//! The requests to a key-value store: the mix of YCSB's workload B, made before the clock starts.

use crate::{Error, ErrorKind};
use bertha_kvstore::Message;
use bertha_ycsb::generator::InsertSequence;
use bertha_ycsb::parameters::Parameters;
use bertha_ycsb::properties::Properties;
use bertha_ycsb::workload::{Load, Mixed, Operations, Request};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::sync::Arc;

/// The shape of the load: reads and updates of whole values under YCSB's zipfian law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Workload {
    /// Number of records in the store, at least 1.
    pub(crate) records: u64,
    /// Number of bytes in each value.
    pub(crate) value_bytes: usize,
    /// Share of reads, from 0 to 1; the rest are updates.
    pub(crate) reads: f64,
}

impl Default for Workload {
    /// Returns workload B over a thousand records of 100 bytes.
    fn default() -> Self {
        Self { records: 1000, value_bytes: 100, reads: 0.95 }
    }
}

/// Number of operations before a script starts over.
const LENGTH: u64 = 1 << 14;

/// Requests that are complete but for their ids.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    load: Vec<Message>,
    mix: Vec<Message>,
}

/// A part of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The puts that fill the store, each once.
    Load,
    /// The mix of reads and updates, without end.
    Mix,
}

impl Script {
    /// Returns the number of records.
    pub(crate) fn records(&self) -> u64 {
        self.load.len() as u64
    }

    /// Returns the request at a position of the phase, which starts over at its end. The caller sets its id
    /// before each use.
    #[inline]
    pub(crate) fn request(&mut self, phase: Phase, position: u64) -> &mut Message {
        let requests = match phase {
            Phase::Load => &mut self.load,
            Phase::Mix => &mut self.mix,
        };
        let length = requests.len();
        &mut requests[position as usize % length]
    }
}

impl Workload {
    /// Returns YCSB's parameters of this load.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for parameters that YCSB does not accept.
    pub(crate) fn parameters(&self) -> Result<Parameters, Error> {
        let text = format!(
            "recordcount={}\noperationcount={LENGTH}\nfieldcount=1\nfieldlength={}\nreadproportion={}\n\
             updateproportion={}\nrequestdistribution=zipfian",
            self.records,
            self.value_bytes,
            self.reads,
            1.0 - self.reads
        );
        let parameters = text.parse::<Properties>().and_then(|properties| Parameters::new(&properties));
        parameters
            .map(|(parameters, _)| parameters)
            .map_err(Error::while_doing(ErrorKind::Codec, "reading the workload"))
    }

    /// Returns the requests of this load, which are always the same requests.
    ///
    /// # Errors
    /// Errors of [`parameters`](Self::parameters).
    pub(crate) fn script(&self) -> Result<Script, Error> {
        let parameters = self.parameters()?;
        let sequence = Arc::new(InsertSequence::new(parameters.records));
        let load = requests(Load::part(&parameters, 0, 1));
        Ok(Script { load, mix: requests(Mixed::part(&parameters, 0, 1, sequence)) })
    }
}

fn requests(mut operations: impl Operations) -> Vec<Message> {
    let mut draws = StdRng::seed_from_u64(1);
    let operations = std::iter::from_fn(|| operations.next(&mut draws));
    operations
        .map(|it| Request::new(it, 0))
        .map(|it| Message { key: it.key, id: 0, body: it.first })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_kvstore::{Body, Key};
    use std::collections::{HashMap, HashSet};

    #[test]
    fn the_mix_is_that_of_workload_b_and_every_record_is_loaded_once() {
        let mut script = Workload::default().script().unwrap();
        let loaded = (0..script.records()).map(|position| script.request(Phase::Load, position).key.to_vec());
        assert_eq!(loaded.collect::<HashSet<_>>().len(), 1000);
        let mut asked = HashMap::<Key, usize>::new();
        let mut updates = 0;
        for position in 0..LENGTH {
            let request = script.request(Phase::Mix, position);
            *asked.entry(request.key.clone()).or_default() += 1;
            updates += usize::from(matches!(request.body, Body::Update { .. }));
        }
        let share = |count: usize| count as f64 / LENGTH as f64;
        assert!((share(updates) - 0.05).abs() < 0.01, "{}", share(updates));
        // YCSB's first rank has 1 in 26.5 requests, and a few more by hash.
        let top = asked.values().max().copied().unwrap();
        assert!((0.03..0.06).contains(&share(top)), "{}", share(top));
    }
}
