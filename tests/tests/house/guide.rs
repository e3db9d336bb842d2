//! The code in the README and the guides equals the code of the crates in `tests/outside` and of examples.

use bertha_core::{Connection, Datapath, Listener};
use bertha_datapath_kernel::{Tcp, Udp, UnixStream};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A piece of code in a text, and the file that the text in front of it names.
struct Shown {
    file: String,
    code: String,
}

/// Returns the shown code that is no test of the documentation.
fn shown(text: &str) -> Vec<Shown> {
    let (mut file, mut shown) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        // Every other piece between backticks is code.
        for word in line.split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") || word.ends_with(".toml") {
                file = word.to_owned();
            }
        }
        if ["```rust,ignore", "```toml"].contains(&line) {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            shown.push(Shown { file: file.clone(), code: code.join("\n") });
        }
    }
    shown
}

/// Compares a text with the sources in a folder. Returns the number of pieces of code in the text.
fn check(text: &str, folder: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shown = shown(&fs::read_to_string(root.join(text)).unwrap());
    for Shown { file, code } in &shown {
        let source = fs::read_to_string(root.join(folder).join(file))
            .unwrap_or_else(|error| panic!("{text} names {file}: {error}"));
        assert!(source.contains(code), "{text} shows what is not in {file}:\n{code}");
    }
    shown.len()
}

#[test]
fn every_piece_of_code_stands_in_the_file_that_it_is_said_to_be_from() {
    assert!(check("src/guide/chunnel.md", "tests/outside") > 3);
    assert!(check("src/guide/pass.md", "tests/outside") > 9);
    assert_eq!(check("README.md", "tests/outside"), 1);
    assert_eq!(check("src/guide/daemon.md", "examples/calls"), 4);
}

/// Returns the first column of the rows of a text's tables, without the backticks and the targets of links.
fn first_column(text: &str) -> Vec<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split_once(" |")).map(|(cell, _)| code_in(cell)).collect()
}

/// Returns the code between the first backticks of a cell, or the whole cell.
fn code_in(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap_or(cell)
}

/// The guide on errors has a row for each kind of error.
#[test]
fn every_kind_of_error_is_in_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = fs::read_to_string(root.join("bertha-core/src/error.rs")).unwrap();
    let (_, kinds) = source.split_once("pub enum ErrorKind {\n").unwrap();
    let (kinds, _) = kinds.split_once("\n}").unwrap();
    let kinds = kinds.lines().filter_map(|line| line.trim().strip_suffix(','));
    let kinds: BTreeSet<_> = kinds.filter(|line| !line.contains(' ')).collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    let text = fs::read_to_string(root.join("src/guide/errors.md")).unwrap();
    let rows: BTreeSet<_> = first_column(&text).into_iter().collect();
    assert_eq!(kinds.difference(&rows).collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// The sizes in the guide on datapaths are those of connections with default settings.
#[tokio::test]
async fn the_guide_states_the_sizes_of_messages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("src/guide/datapaths.md")).unwrap();
    let stated = |datapath: &str| {
        let row = text.lines().find(|row| row.starts_with(&format!("| [`{datapath}`]"))).unwrap();
        let words: Vec<_> = row.split('|').nth(3).unwrap().split_whitespace().collect();
        let ["up", "to", number, unit, ..] = words[..] else { panic!("{row}") };
        let number: usize = number.replace(',', "").parse().unwrap();
        if unit.starts_with("MiB") { number << 20 } else { number }
    };
    let localhost = ([127, 0, 0, 1], 0);
    let listener = Tcp::new().listen(localhost.into()).await.unwrap();
    let tcp = Tcp::new().connect(listener.local_addr()).await.unwrap();
    assert_eq!(stated("kernel::Tcp"), tcp.mtu());
    let listener = Udp::new().listen(localhost.into()).await.unwrap();
    let udp = Udp::new().connect(listener.local_addr()).await.unwrap();
    assert_eq!(stated("kernel::Udp"), udp.mtu());
    let path = std::env::temp_dir().join(format!("bertha-guide-{}", std::process::id()));
    let listener = UnixStream::new().listen(path.as_path().into()).await.unwrap();
    let unix = UnixStream::new().connect(listener.local_addr()).await.unwrap();
    assert_eq!(stated("kernel::UnixStream"), unix.mtu());
    drop(listener);
    let _ = fs::remove_file(path);
}

/// Returns the blocks of code of a text, each with its language.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language, code.join("\n")));
        }
    }
    blocks
}

/// Each program of the cookbook stands whole behind a manifest, which has its crates and its features.
#[test]
fn the_cookbook_has_eleven_programs_with_their_dependencies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("src/guide/cookbook.md")).unwrap();
    let facade = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let blocks = blocks(&text);
    let pairs: Vec<_> = blocks.chunks(2).collect();
    assert_eq!(pairs.len(), 11);
    // Crates that programs name as `bertha::..` and the like.
    let known = ["bertha", "bertha_datapath_sim", "futures_util", "http_body_util", "hyper", "hyper_util"];
    let known = known.into_iter().chain(["rcgen", "serde", "tokio", "tower"]);
    for pair in pairs {
        let [("toml", manifest), ("", program)] = pair else {
            panic!("a manifest, and then a program: {pair:?}")
        };
        assert!(!program.lines().any(|line| line.starts_with("# ")), "a whole program:\n{program}");
        assert!(program.contains("fn main()"), "{program}");
        for name in known.clone() {
            let is_named = program.contains(&format!("{name}::"));
            let package = name.replace('_', "-");
            let is_declared = manifest.lines().any(|line| line.starts_with(&format!("{package} = ")));
            assert_eq!(is_named, is_declared, "{name}:\n{manifest}\n{program}");
        }
        let bertha = manifest.lines().find(|line| line.starts_with("bertha = ")).unwrap();
        let features = bertha.split_once("features = [").map_or("", |(_, features)| features);
        for feature in features.split('"').skip(1).step_by(2) {
            assert!(facade.contains(&format!("\n{feature} = [")), "{feature} is no feature of bertha");
        }
    }
}

/// The facade's table of features and its manifest name the same features.
#[test]
fn every_feature_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let declared = features.lines().filter(|line| !line.starts_with([' ', '#', ']']));
    let declared = declared.filter_map(|line| Some(line.split_once(" = ")?.0));
    let declared: BTreeSet<_> = declared.filter(|name| !["default", "_datapath"].contains(name)).collect();
    let text = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let names =
        rows.filter_map(|row| row.split_once(" |")).flat_map(|(names, _)| names.split('`').step_by(2));
    let shown: BTreeSet<_> = names.filter(|name| !name.is_empty()).collect();
    assert_eq!(shown, declared);
}
