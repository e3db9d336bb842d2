use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;

use super::super::{Load, Request};
use super::*;
use crate::properties::Properties;

fn parameters(text: &str) -> Parameters {
    Parameters::new(&text.parse::<Properties>().unwrap()).unwrap().0
}

fn all(mut operations: impl Operations) -> Vec<Operation> {
    let mut rng = StdRng::seed_from_u64(9);
    std::iter::from_fn(|| operations.next(&mut rng)).collect()
}

fn sequence(parameters: &Parameters) -> Arc<InsertSequence> {
    Arc::new(InsertSequence::new(parameters.records))
}

#[test]
fn the_parts_of_a_load_write_every_record_once() {
    let parameters = parameters("recordcount=103\ninsertstart=3\nfieldcount=4\nfieldlength=25");
    let mut keys = BTreeSet::new();
    for part in 0..7 {
        for operation in all(Load::part(&parameters, part, 7)) {
            let Operation::Insert { key, record, .. } = operation else { panic!("{operation:?}") };
            assert_eq!(record.len(), 100);
            assert!(keys.insert(key));
        }
    }
    let expected: BTreeSet<_> = (3..103).map(|number| Layout::new(&parameters).key(number)).collect();
    assert_eq!(keys, expected);
}

#[test]
fn keys_are_named_as_in_ycsb() {
    assert_eq!(Layout::new(&parameters("recordcount=1")).key(0), "user6284781860667377211");
    let ordered = parameters("recordcount=1\ninsertorder=ordered\nzeropadding=8");
    assert_eq!(Layout::new(&ordered).key(42), "user00000042");
}

#[test]
fn the_parts_of_a_run_draw_in_proportion() {
    let parameters = parameters(
        "recordcount=500\noperationcount=40001\nreadproportion=0.3\nscanproportion=0.1\nupdateproportion=0.3\n\
         insertproportion=0.1\nreadmodifywriteproportion=0.2\nrequestdistribution=zipfian",
    );
    let sequence = sequence(&parameters);
    let mut counts = BTreeMap::new();
    for part in 0..3 {
        for operation in all(Mixed::part(&parameters, part, 3, Arc::clone(&sequence))) {
            *counts.entry(Request::new(operation, 0).kind).or_insert(0_u32) += 1;
        }
    }
    assert_eq!(counts.values().sum::<u32>(), 40_001);
    for (kind, share) in [
        (Kind::Read, 0.3),
        (Kind::Scan, 0.1),
        (Kind::Update, 0.3),
        (Kind::Insert, 0.1),
        (Kind::ReadModifyWrite, 0.2),
    ] {
        assert!((f64::from(counts[&kind]) / 40_001.0 - share).abs() < 0.015, "{counts:?}");
    }
}

#[test]
fn asks_only_for_records_that_exist() {
    for distribution in ["uniform", "zipfian", "latest"] {
        let parameters = parameters(&format!(
            "recordcount=20\noperationcount=5000\nreadproportion=0.5\nupdateproportion=0\n\
             insertproportion=0.5\nrequestdistribution={distribution}"
        ));
        let layout = Layout::new(&parameters);
        let mut mixed = Mixed::part(&parameters, 0, 1, sequence(&parameters));
        let mut existing: BTreeSet<_> = (0..20).map(|number| layout.key(number)).collect();
        let mut rng = StdRng::seed_from_u64(11);
        let mut unsettled = Vec::new();
        while let Some(operation) = mixed.next(&mut rng) {
            match operation {
                Operation::Read { key } => assert!(existing.contains(&key), "{distribution}"),
                Operation::Insert { number, key, .. } => unsettled.push((number, key)),
                other => panic!("{other:?}"),
            }
            // The inserts settle in the reverse order, ten at a time.
            if unsettled.len() == 10 {
                for (number, key) in unsettled.drain(..).rev() {
                    existing.insert(key);
                    mixed.settle(number);
                }
            }
        }
        assert!(existing.len() > 2000);
    }
}

/// Returns the parameters of the stock workload E with this number of operations.
fn workload_e(operations: u64, more: &str) -> Parameters {
    let stock = include_str!("../../../workloads/workloade");
    parameters(&format!("{stock}\noperationcount={operations}\n{more}"))
}

/// Returns the number of scans of each length, and checks the share of scans among all operations.
fn scan_lengths(parameters: &Parameters) -> BTreeMap<u32, u32> {
    let mut lengths = BTreeMap::new();
    let operations = all(Mixed::part(parameters, 0, 1, sequence(parameters)));
    let total = operations.len() as f64;
    for operation in operations {
        match operation {
            Operation::Scan { count, .. } => *lengths.entry(count).or_insert(0) += 1,
            Operation::Insert { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let scans = f64::from(lengths.values().sum::<u32>());
    assert!((scans / total - 0.95).abs() < 0.01, "{scans} of {total}");
    lengths
}

#[test]
fn workload_e_has_its_proportions_and_scans_of_every_length_up_to_a_hundred() {
    let lengths = scan_lengths(&workload_e(40_000, ""));
    assert!(lengths.keys().copied().eq(1..=100), "{lengths:?}");
    // Pearson's statistic with 99 degrees of freedom exceeds 162 once in 20,000.
    let mean = f64::from(lengths.values().sum::<u32>()) / 100.0;
    let chi_squared: f64 = lengths.values().map(|n| (f64::from(*n) - mean).powi(2) / mean).sum();
    assert!(chi_squared < 162.0, "{chi_squared}: {lengths:?}");
}

#[test]
fn the_lengths_of_scans_are_in_their_bounds_and_may_be_zipfian() {
    let more = "minscanlength=10\nmaxscanlength=12\nscanlengthdistribution=zipfian";
    let lengths = scan_lengths(&workload_e(10_000, more));
    assert!(lengths.keys().copied().eq(10..=12), "{lengths:?}");
    assert!(lengths[&10] > lengths[&11] && lengths[&11] > lengths[&12], "{lengths:?}");
    let one = scan_lengths(&workload_e(10_000, "minscanlength=7\nmaxscanlength=7"));
    assert!(one.keys().copied().eq([7]));
}

/// The keys of scans are drawn as those of reads: zipfian, so a few of them begin most scans.
#[test]
fn the_first_records_of_scans_are_zipfian() {
    let parameters = workload_e(40_000, "");
    let mut counts = BTreeMap::new();
    for operation in all(Mixed::part(&parameters, 0, 1, sequence(&parameters))) {
        if let Operation::Scan { key, .. } = operation {
            *counts.entry(key).or_insert(0_u32) += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|one, another| another.cmp(one));
    let (top, total) = (counts[..10].iter().sum::<u32>(), counts.iter().sum::<u32>());
    // About 11 %, where a uniform choice would be 1 %.
    assert!(f64::from(top) / f64::from(total) > 0.08, "{top} of {total}");
}

#[test]
fn an_update_overwrites_exactly_one_field() {
    let text = "recordcount=9\noperationcount=300\nreadproportion=0\nupdateproportion=1\nfieldcount=5\nfieldlength=7";
    let parameters = parameters(text);
    let mut offsets = BTreeSet::new();
    for operation in all(Mixed::part(&parameters, 0, 1, sequence(&parameters))) {
        let Operation::Update { offset, bytes, .. } = operation else { panic!("{operation:?}") };
        assert_eq!(bytes.len(), 7);
        offsets.insert(offset);
    }
    assert_eq!(offsets, BTreeSet::from([0, 7, 14, 21, 28]));
}
