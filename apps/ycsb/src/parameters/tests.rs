use super::*;

fn stock(name: &str) -> Properties {
    let mut properties = Properties::default();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads").join(name);
    properties.read_file(&path).unwrap();
    properties
}

fn with(assignments: &[&str]) -> Result<(Parameters, Vec<String>), PropertyError> {
    let mut properties = stock("workloada");
    for assignment in assignments {
        properties.set(assignment).unwrap();
    }
    Parameters::new(&properties)
}

#[test]
fn reads_every_stock_file() {
    use RequestDistribution::{Latest, Zipfian};
    for (name, proportions, distribution) in [
        ("workloada", [0.5, 0.0, 0.5, 0.0, 0.0], Zipfian),
        ("workloadb", [0.95, 0.0, 0.05, 0.0, 0.0], Zipfian),
        ("workloadc", [1.0, 0.0, 0.0, 0.0, 0.0], Zipfian),
        ("workloadd", [0.95, 0.0, 0.0, 0.05, 0.0], Latest),
        ("workloade", [0.0, 0.95, 0.0, 0.05, 0.0], Zipfian),
        ("workloadf", [0.5, 0.0, 0.0, 0.0, 0.5], Zipfian),
    ] {
        let (read, warnings) = Parameters::new(&stock(name)).unwrap();
        let [r, scan, update, insert, read_modify_write] = proportions;
        assert_eq!(read.mix, Mix { read: r, scan, update, insert, read_modify_write }, "{name}");
        let longest = if name == "workloade" { 100 } else { 1000 };
        assert_eq!(read.scan_lengths, (1, longest), "{name}");
        assert_eq!(read.scan_distribution, ScanLengthDistribution::Uniform, "{name}");
        assert_eq!(read.distribution, distribution, "{name}");
        assert_eq!((read.records, read.operations, read.record_length()), (1000, 1000, 1000), "{name}");
        assert_eq!((read.order, read.target, read.max_time), (InsertOrder::Hashed, None, None), "{name}");
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}

#[test]
fn refuses_what_it_cannot_do_by_name() {
    for (assignment, name) in [
        ("requestdistribution=hotspot", "requestdistribution"),
        ("requestdistribution=sequential", "requestdistribution"),
        ("requestdistribution=exponential", "requestdistribution"),
        ("fieldlengthdistribution=zipfian", "fieldlengthdistribution"),
        ("workload=com.example.Other", "workload"),
    ] {
        match with(&[assignment]) {
            Err(PropertyError::Unsupported { name: at_fault, .. }) => assert_eq!(at_fault, name),
            other => panic!("{assignment}: {other:?}"),
        }
    }
}

#[test]
fn refuses_values_out_of_range_by_name() {
    for (assignment, name) in [
        ("recordcount=0", "recordcount"),
        ("recordcount=many", "recordcount"),
        ("insertstart=1001", "insertstart"),
        ("insertcount=1001", "insertstart"),
        ("readproportion=-1", "readproportion"),
        ("updateproportion=nan", "updateproportion"),
        ("fieldcount=0", "fieldcount"),
        ("fieldlength=0", "fieldlength"),
        ("fieldlength=100000", "fieldlength"),
        ("zeropadding=124", "zeropadding"),
        ("insertorder=random", "insertorder"),
        ("target=-5", "target"),
        ("scanproportion=-0.1", "scanproportion"),
        ("maxscanlength=0", "maxscanlength"),
        ("maxscanlength=1001", "maxscanlength"),
        ("minscanlength=0", "minscanlength"),
        ("minscanlength=1001", "minscanlength"),
        ("scanlengthdistribution=latest", "scanlengthdistribution"),
        ("target=inf", "target"),
        ("requestdistribution=normal", "requestdistribution"),
    ] {
        match with(&[assignment]) {
            Err(PropertyError::BadValue { name: at_fault, .. }) => assert_eq!(at_fault, name),
            other => panic!("{assignment}: {other:?}"),
        }
    }
    assert!(with(&["readproportion=0", "updateproportion=0"]).is_err());
}

#[test]
fn zero_padding_may_fill_the_longest_key_of_the_store() {
    for order in ["ordered", "hashed"] {
        let (parameters, _) = with(&["zeropadding=123", &format!("insertorder={order}")]).unwrap();
        let layout = crate::workload::Layout::new(&parameters);
        for number in [0, 1, u64::MAX] {
            assert_eq!(layout.key(number).len(), bertha_kvstore::MAX_KEY);
        }
    }
}

#[test]
fn warns_of_what_it_ignores() {
    let (_, warnings) = with(&["recordcont=5", "threadcount=4", "readallfields=false"]).unwrap();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("recordcont is unknown")));
}
