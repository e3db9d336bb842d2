//! The tables of edges: each surface that strangers reach has a table, with a test or a reason for each row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The edges that each table has to name.
const EDGES: [&str; 18] = [
    "silent",
    "descriptors",
    "many",
    "slow reader",
    "amplification in memory",
    "depth and emptiness",
    "panic",
    "end",
    "passing failure",
    "restart",
    "path",
    "other users",
    "hostile descriptors",
    "hostile memory",
    "browser",
    "strangers' clients",
    "time",
    "telling",
];

/// The files of the tables, and the number of surfaces in each.
const TABLES: [(&str, usize); 26] = [
    ("apps/agent/tests/edges.md", 1),
    ("apps/bundler/tests/edges.md", 1),
    ("apps/file-transfer/tests/edges.md", 1),
    ("apps/kvstore/tests/edges.md", 2),
    ("apps/microservice/tests/edges.md", 1),
    ("apps/rpcd/tests/edges.md", 1),
    ("apps/socketd/tests/edges.md", 1),
    ("bindings/c/tests/edges.md", 1),
    ("bindings/python/tests/edges.md", 1),
    ("bundle/tests/edges.md", 1),
    ("chunnels/ccp/tcp/tests/edges.md", 1),
    ("chunnels/ccp/tests/edges.md", 1),
    ("datapaths/dpdk/tests/edges.md", 1),
    ("datapaths/kernel/tests/edges.md", 1),
    ("datapaths/shm/tests/edges.md", 1),
    ("local/tests/edges.md", 1),
    ("managed/tests/edges.md", 1),
    ("observe/tests/edges.md", 2),
    ("schemas/tests/edges.md", 1),
    ("tests/tests/caladan/edges.md", 1),
    ("tests/tests/chunnels/edges.md", 5),
    ("tests/tests/crowds/edges.md", 1),
    ("tests/tests/groups/edges.md", 1),
    ("tests/tests/negotiation/edges.md", 4),
    ("tests/tests/queues/edges.md", 1),
    ("tests/tests/upgrade/edges.md", 1),
];
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The functions of the workspace, with the files that they are in.
struct Functions(BTreeMap<String, Vec<PathBuf>>);

impl Functions {
    fn of_workspace() -> Self {
        let mut functions = Self(BTreeMap::new());
        functions.add_folder(root());
        functions
    }

    fn add_folder(&mut self, folder: &Path) {
        for entry in read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                self.add_folder(&path);
            } else if name.ends_with(".rs") || name.ends_with(".py") {
                self.add_file(&path);
            }
        }
    }

    fn add_file(&mut self, path: &Path) {
        for line in read_to_string(path).unwrap().lines() {
            let line = line.trim_start();
            let of_rust = line.split_once("fn ").filter(|(before, _)| !before.contains("//"));
            let Some(rest) = of_rust.map(|(_, rest)| rest).or_else(|| line.strip_prefix("def ")) else {
                continue;
            };
            let name = rest.split(|letter: char| !is_of_name(letter)).next().unwrap_or_default();
            self.0.entry(name.to_owned()).or_default().push(path.to_owned());
        }
    }

    /// Returns true if a function has the last name of a path, in a file or a folder with each of the names before.
    fn has(&self, path: &str) -> bool {
        let names: Vec<_> = path.split("::").collect();
        let Some((function, modules)) = names.split_last() else { return false };
        let files = self.0.get(*function).map(Vec::as_slice).unwrap_or_default();
        files.iter().any(|file| {
            let parts: BTreeSet<_> =
                file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            modules.iter().all(|module| parts.contains(*module))
        })
    }

    /// Returns true if a file of the workspace ends with this path.
    fn is_file(&self, path: &str) -> bool {
        self.0.values().flatten().any(|file| file.ends_with(path))
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns true if the text has the form of a test's name: words in lower case, joined by at least two underscores.
fn is_name_of_a_test(text: &str) -> bool {
    let name = text.rsplit("::").next().unwrap_or_default();
    let is_lower =
        text.chars().all(|letter| is_of_name(letter) && !letter.is_ascii_uppercase() || letter == ':');
    is_lower && name.matches('_').count() >= 2
}

/// Returns the faults of a table: edges that it does not name, rows without a test or a reason, and tests and files that are not there.
fn faults(table: &str, folder: &Path, functions: &Functions) -> Vec<String> {
    let mut faults = Vec::new();
    let mut named = BTreeSet::new();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(edge), Some(proof)) = (cells.first(), cells.last()) else { continue };
        let edge = edge.split(':').next().unwrap_or_default();
        named.extend(edge.split(", ").map(str::to_owned));
        if cells.len() < 2 || proof.is_empty() {
            faults.push(format!("`{edge}` has neither a test nor a reason"));
        }
        faults.extend(missing(proof, folder, functions).map(|what| format!("`{edge}` names {what}")));
    }
    let lacking = EDGES.iter().filter(|edge| !named.contains(**edge));
    faults.extend(lacking.map(|edge| format!("`{edge}` has no row")));
    faults
}

/// Returns the files and tests that a cell names and that are not there.
fn missing(cell: &str, folder: &Path, functions: &Functions) -> impl Iterator<Item = String> {
    // Every second part lies between backticks.
    cell.split('`').skip(1).step_by(2).filter_map(move |quoted| {
        let is_file = quoted.ends_with(".rs") || quoted.ends_with(".py") || quoted.ends_with(".md");
        let is_there =
            || folder.join(quoted).exists() || root().join(quoted).exists() || functions.is_file(quoted);
        if is_file && !is_there() {
            Some(format!("the file `{quoted}`, which is not there"))
        } else if is_name_of_a_test(quoted) && !functions.has(quoted) {
            Some(format!("the test `{quoted}`, which is not there"))
        } else {
            None
        }
    })
}

/// Returns the tables of a document, one for each heading that is followed by a table.
fn tables(document: &str) -> Vec<String> {
    let mut tables = vec![String::new()];
    for line in document.lines() {
        if line.starts_with('#') {
            tables.push(String::new());
        }
        if let Some(table) = tables.last_mut().filter(|_| line.starts_with('|')) {
            table.push_str(line);
            table.push('\n');
        }
    }
    tables.retain(|table| !table.is_empty());
    tables
}

#[test]
fn each_surface_has_a_table_with_a_test_or_a_reason_for_each_edge() {
    let functions = Functions::of_workspace();
    let mut all = Vec::new();
    for (path, surfaces) in TABLES {
        let file = root().join(path);
        let document = read_to_string(&file).unwrap_or_default();
        let mut tables = tables(&document);
        // A document may have further tables.
        tables.retain(|table| table.lines().next().is_some_and(|head| head.ends_with("| test, or reason |")));
        if tables.len() != surfaces {
            all.push(format!("{path}: {} tables, and {surfaces} surfaces", tables.len()));
        }
        for table in tables {
            all.extend(
                faults(&table, file.parent().unwrap(), &functions)
                    .iter()
                    .map(|fault| format!("{path}: {fault}")),
            );
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The guide `security` says what a peer costs an end, and which test measures it.
#[test]
fn each_bound_of_the_guide_is_measured_by_a_test() {
    let functions = Functions::of_workspace();
    let guide = root().join("src/guide");
    let document = read_to_string(guide.join("security.md")).unwrap();
    let table = tables(&document).into_iter().find(|table| table.contains("| measured by |")).unwrap();
    let rows: Vec<_> = table.lines().skip(2).collect();
    assert!(rows.len() > 10, "the table is cut");
    for row in rows {
        let cell = row.trim_matches('|').rsplit('|').next().unwrap();
        assert!(cell.contains('`'), "no test measures the bound of {row}");
        assert_eq!(missing(cell, &guide, &functions).next(), None, "{row}");
    }
}

#[test]
fn faults_of_a_table_are_found() {
    let functions =
        Functions(BTreeMap::from([("a_test_of_this".to_owned(), vec![PathBuf::from("tests/place.rs")])]));
    let rows: String = EDGES.iter().map(|edge| format!("| {edge} | a reason |\n")).collect();
    let head = "| edge | test, or reason |\n|---|---|\n";
    let found = |rows: &str| faults(&format!("{head}{rows}"), root(), &functions);
    assert_eq!(found(&rows), Vec::<String>::new());
    assert_eq!(found(&rows.replace("| panic | a reason |\n", "")), ["`panic` has no row"]);
    assert_eq!(
        found(&rows.replace("| time | a reason |", "| time | |")),
        ["`time` has neither a test nor a reason"]
    );
    let with = |proof: &str| found(&rows.replace("| end | a reason |", &format!("| end | `{proof}` |")));
    assert_eq!(with("place::a_test_of_this"), Vec::<String>::new());
    assert_eq!(with("a_test_of_that"), ["`end` names the test `a_test_of_that`, which is not there"]);
    assert_eq!(
        with("other::a_test_of_this"),
        ["`end` names the test `other::a_test_of_this`, which is not there"]
    );
    assert_eq!(with("no_such_file.rs"), ["`end` names the file `no_such_file.rs`, which is not there"]);
}
