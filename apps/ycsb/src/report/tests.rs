use super::*;

/// Returns a run whose latencies are multiples of `p50`, in microseconds.
fn run(offered: Option<f64>, throughput: f64, p50: f64) -> Measured {
    let total = Row {
        completed: 100,
        missing: 0,
        refused: 0,
        given_up: 0,
        scanned: 0,
        p5: p50 * 0.6,
        p25: p50 * 0.8,
        p50,
        p75: p50 * 1.5,
        p95: p50 * 3.0,
        p99: p50 * 5.0,
        max: p50 * 20.0,
    };
    Measured {
        offered,
        throughput,
        seconds: 2.0,
        total,
        kinds: vec![(Kind::Read, total)],
        overdue: 0,
        retransmissions: 0,
        ignored: 0,
        errors: vec![],
        troubles: vec![],
    }
}

fn report(label: &str, runs: Vec<Measured>) -> Report {
    let connection = Negotiated { stack: "shard, serialise, udp".into(), reason: "preferred".into() };
    Report {
        label: label.into(),
        workload: "workloadb".into(),
        connections: vec![connection; 3],
        load: None,
        runs,
    }
}

#[test]
fn json_reads_back_as_written() {
    let report = report("a", vec![run(Some(1000.0), 999.5, 50.0), run(None, 5000.0, 70.25)]);
    let path = std::env::temp_dir().join(format!("ycsb-report-{}.json", std::process::id()));
    report.write(&path).unwrap();
    assert_eq!(Report::read(&path).unwrap(), report);
    std::fs::write(&path, "{}").unwrap();
    let error = Report::read(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error, ReportError::Malformed { .. }));
    assert!(matches!(Report::read(&path), Err(ReportError::Io { .. })));
}

#[test]
fn the_table_groups_connections_and_names_troubles() {
    let mut report = report("client sharding", vec![run(Some(1000.0), 999.5, 50.0)]);
    report.connections[2].reason = "the server has nothing else".into();
    let calm = Table(&report).to_string();
    assert!(calm.contains("connections 0 to 1: shard, serialise, udp (preferred)"), "{calm}");
    assert!(calm.contains("connection 2: "), "{calm}");
    assert!(!calm.contains("operations were"), "{calm}");
    report.runs[0].overdue = 7;
    report.runs[0].errors.push((2, "closed".into()));
    report.runs[0].troubles.push((0, "connection refused".into()));
    let troubled = Table(&report).to_string();
    assert!(troubled.contains("7 operations were due"), "{troubled}");
    assert!(troubled.contains("connection 2 ended early: closed"), "{troubled}");
    assert!(
        troubled.contains("connection 0 lived on, with this error last: connection refused"),
        "{troubled}"
    );
}

#[test]
fn the_table_has_scans_as_their_own_operation_and_counts_their_records() {
    let mut report = report("a", vec![run(None, 1000.0, 50.0)]);
    assert!(!Table(&report).to_string().contains("scan"));
    let run = &mut report.runs[0];
    run.total.scanned = 5000;
    run.kinds.push((Kind::Scan, run.total));
    let told = Table(&report).to_string();
    assert!(told.contains("\n  scan                     100 "), "{told}");
    assert!(told.contains("\n  5000 records were read by scans, 2500/s\n"), "{told}");
}

#[test]
fn an_incomplete_load_and_lost_connections_are_shortcomings() {
    let mut report = report("a", vec![run(None, 1000.0, 50.0), run(None, 1000.0, 50.0)]);
    assert_eq!(report.shortcoming(100), None, "without a load phase there is nothing to be incomplete");
    report.load = Some(run(None, 1000.0, 50.0));
    assert_eq!(report.shortcoming(100), None);
    assert!(report.shortcoming(101).unwrap().contains("100 of 101 records"));
    report.runs[0].errors.push((2, "closed".into()));
    report.runs[1].errors.push((2, "closed".into()));
    assert_eq!(report.shortcoming(100).unwrap(), "1 of 3 connections ended early; connection 2: closed");
}

#[test]
fn a_run_without_an_answer_is_a_shortcoming_with_its_reason() {
    let mut report = report("a", vec![run(None, 1000.0, 50.0)]);
    report.runs[0].total.given_up = 3;
    assert_eq!(report.shortcoming(100), None, "the other operations were answered");
    report.runs[0].total.completed = 0;
    report.runs[0].troubles.push((1, "connection refused".into()));
    let told = report.shortcoming(100).unwrap();
    assert_eq!(told, "the store answered no operation of a run; connection 1: connection refused");
}

#[test]
fn reports_of_one_label_are_joined() {
    let one = |label, load| report(label, vec![run(Some(load), load, 50.0)]);
    let joined = Report::joined([one("a", 1.0), one("b", 2.0), one("a", 3.0)]);
    let loads = |report: &Report| report.runs.iter().filter_map(|run| run.offered).collect::<Vec<_>>();
    assert_eq!(joined.iter().map(loads).collect::<Vec<_>>(), [vec![1.0, 3.0], vec![2.0]]);
    assert_eq!(joined[1].label, "b");
}

#[test]
fn a_cause_that_was_told_is_not_repeated() {
    let refused = || std::io::Error::other("refused");
    let told = bertha::Error::new(bertha::ErrorKind::Io, "nobody there: refused").because(refused());
    assert_eq!(chain(&told), "i/o error: nobody there: refused");
    let untold = bertha::Error::new(bertha::ErrorKind::Io, "nobody there").because(refused());
    assert_eq!(chain(&untold), "i/o error: nobody there: refused");
}
