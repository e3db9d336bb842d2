//! The files of a folder.

use crate::qlog::run::{Records, message};
use crate::qlog::schema::check;
use bertha_chunnels::Reliable;
use bertha_chunnels::reliable::Qlog;
use bertha_core::{Connection, Wrap};
use bertha_datapath_sim::{Sim, pair};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Reads a JSON text sequence.
fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let records = text.split_inclusive('\n').map(|record| {
        let record = record.strip_prefix('\u{1e}').expect("a record separator").strip_suffix('\n');
        serde_json::from_str(record.expect("a line feed")).unwrap()
    });
    records.collect()
}

/// Moves messages between two ends that both write.
fn transfer(reliable: &Reliable, count: usize, middle: impl FnOnce()) {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = pair(runtime);
        let [here, there] = [reliable.wrap(here).await.unwrap(), reliable.wrap(there).await.unwrap()];
        let mut middle = Some(middle);
        for number in 0..count {
            here.send(message(100)).await.unwrap();
            there.recv().await.unwrap();
            if number == count / 2 {
                middle.take().into_iter().for_each(|middle| middle());
            }
        }
        here.close().await.unwrap();
    });
}

#[test]
fn each_end_has_a_file_of_its_own_that_follows_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let reliable = Reliable::new().qlog(Qlog::folder(folder.path()).unwrap());
    transfer(&reliable, 300, || {});
    let files = files(folder.path());
    assert_eq!(files.len(), 2);
    for file in &files {
        let records = read(file);
        assert!(check(&records).contains("quic:connection_closed"));
        assert!(records.len() > 300);
        let clock = &records[0]["trace"]["common_fields"]["reference_time"]["wall_clock_time"];
        assert!(clock.as_str().unwrap().starts_with("20"), "{clock}");
    }
}

#[test]
fn a_file_ends_at_its_limit_and_says_so() {
    for limit in [0, 4_096, 10_000, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let qlog = Qlog::folder(folder.path()).unwrap().limit(limit);
        transfer(&Reliable::new().qlog(qlog), 1_000, || {});
        let limit = limit.max(4_096);
        for file in files(folder.path()) {
            let size = fs::metadata(&file).unwrap().len();
            assert!(size <= limit && size > limit - 1_000, "{size} bytes, limit {limit}");
            let records = read(&file);
            check(&records);
            let last = records.last().unwrap();
            assert_eq!(last["name"], "loglevel:warning");
            assert!(
                last["data"]["message"].as_str().unwrap().ends_with(&format!("its limit of {limit} bytes"))
            );
        }
    }
}

#[test]
fn a_callback_gets_the_same_limit() {
    let records = Records::default();
    transfer(&Reliable::new().qlog(records.qlog().limit(5_000)), 1_000, || {});
    let ends = records.named("loglevel:warning");
    assert_eq!(ends.len(), 2);
}

/// The folder may go at any time: files that are open are written to their end, and connections that begin later have none.
#[test]
fn a_folder_that_is_gone_ends_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qlogs");
    let reliable = Reliable::new().qlog(Qlog::folder(&path).unwrap());
    transfer(&reliable, 100, || fs::remove_dir_all(&path).unwrap());
    transfer(&reliable, 100, || {});
    assert!(!path.exists());
}

#[test]
fn the_setting_shows_its_folder_and_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let shown = format!("{:?}", Reliable::new().qlog(Qlog::folder(folder.path()).unwrap().limit(5_000)));
    assert!(shown.contains("limit: 5000") && shown.contains(folder.path().to_str().unwrap()), "{shown}");
}
