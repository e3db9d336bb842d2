use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// A unique path, whose file is removed when the value is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("bertha-{name}-{}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<MessageId> {
    numbers.into_iter().map(|number| MessageId { publisher: 7, number }).collect()
}

async fn take(memory: &Arc<FileMemory>, numbers: impl IntoIterator<Item = u64>) -> Vec<bool> {
    memory.clone().take(ids(numbers)).await.unwrap()
}

#[tokio::test]
async fn what_was_taken_is_known_after_a_restart_and_what_was_half_written_is_not() {
    let place = Place::new("restart");
    let memory = Arc::new(FileMemory::open(&place.0).unwrap());
    assert_eq!(take(&memory, [1, 2, 1]).await, [true, true, false]);
    assert_eq!(FileMemory::open(&place.0).unwrap_err().kind(), ErrorKind::Unavailable, "open already");
    drop(memory);
    let mut bytes = std::fs::read(&place.0).unwrap();
    assert_eq!(bytes.len(), 2 * 20);
    bytes.extend(&bytes.clone()[..13]);
    std::fs::write(&place.0, &bytes).unwrap();
    let memory = Arc::new(FileMemory::open(&place.0).unwrap());
    assert_eq!(take(&memory, [2, 3, 1]).await, [false, true, false]);
    drop(memory);
    assert_eq!(std::fs::read(&place.0).unwrap().len(), 3 * 20);
}

#[tokio::test]
async fn the_file_is_bounded_and_the_oldest_are_forgotten() {
    let place = Place::new("bounded");
    for start in [0, 50] {
        let memory = Arc::new(FileMemory::with_capacity(&place.0, 10).unwrap());
        for number in start..start + 50 {
            assert_eq!(take(&memory, [number]).await, [true]);
            assert!(std::fs::metadata(&place.0).unwrap().len() < 2 * 10 * 20);
        }
        let last_and_older = [start + 40, start + 49, start + 39];
        assert_eq!(take(&memory, last_and_older).await, [false, false, true]);
    }
}

#[test]
fn another_file_is_left_alone() {
    let place = Place::new("another");
    let text = "Dear diary, today I have written a test for a file.";
    std::fs::write(&place.0, text).unwrap();
    assert_eq!(FileMemory::open(&place.0).unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(std::fs::read_to_string(&place.0).unwrap(), text);
    assert!(FileMemory::open("/nowhere/at/all").unwrap_err().to_string().contains("/nowhere/at/all"));
}

/// The environment variable of the killed process: the path of its file.
const PATH: &str = "BERTHA_TEST_MEMORY";

/// Notes the numbers on its standard input, one burst per line, and prints the numbers that it notes for the
/// first time.
#[test]
fn a_process_that_is_killed() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let memory = Arc::new(FileMemory::with_capacity(path, 5_000).unwrap());
    for line in std::io::stdin().lines() {
        let numbers: Vec<u64> = line.unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
        let firsts = runtime.block_on(take(&memory, numbers.iter().copied()));
        let firsts = numbers.iter().zip(firsts).filter(|(_, is_first)| *is_first);
        let firsts: Vec<String> = firsts.map(|(number, _)| number.to_string()).collect();
        let mut out = std::io::stderr();
        out.write_all(format!("took {}\n", firsts.join(" ")).as_bytes()).unwrap();
    }
}

/// Offers the same numbers to one process after the other, each of which is killed: no number is noted twice.
#[test]
fn kill_9_between_taking_and_the_next_time_repeats_nothing() {
    let place = Place::new("killed");
    let test = "at_most_once::by_publisher::file::tests::a_process_that_is_killed";
    let mut taken = HashSet::new();
    for life in 0..12_u64 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PATH, &place.0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // The numbers begin with some that were offered before, in bursts of 1 to 9, so that the kill hits
        // all places of a record.
        let offering = std::thread::spawn(move || {
            let mut next = 60 * life;
            while next < 3_000 {
                let burst = 1 + (next * 7 + life) % 9;
                let numbers: Vec<String> = (next..next + burst).map(|number| number.to_string()).collect();
                // The kill ends the writing.
                if writeln!(input, "{}", numbers.join(" ")).is_err() {
                    return;
                }
                next += burst;
            }
        });
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut left = 40 + life as i64 * 11;
        while let Some(Ok(line)) = lines.next() {
            let Some(numbers) = line.strip_prefix("took ") else { continue };
            let numbers = numbers.split(' ').filter(|number| !number.is_empty());
            for number in numbers.map(|number| number.parse::<u64>().unwrap()) {
                assert!(taken.insert(number), "{number} was taken twice, life {life}");
            }
            left -= 1;
            if left == 0 {
                // The lines that the process has printed until then are read on: their messages were handed
                // out.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        offering.join().unwrap();
    }
    assert!(taken.len() > 1_000, "{}", taken.len());
}
