//! The header that is checked in is the one of the functions.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use std::fs;
use std::path::Path;

/// Most functions of the header: what is more is not learnt.
const MOST: usize = 45;

/// The files with what C sees, in the order of the header.
const FILES: [&str; 14] = [
    "code.rs",
    "figures.rs",
    "boundary/handle.rs",
    "boundary/options.rs",
    "boundary/connect.rs",
    "boundary/listen.rs",
    "boundary/message.rs",
    "boundary/buffer.rs",
    "boundary/burst.rs",
    "boundary/call.rs",
    "boundary/serve.rs",
    "boundary/answer.rs",
    "boundary/lasting.rs",
    "boundary/told.rs",
];

fn made() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = FILES.iter().fold(builder, |builder, file| builder.with_src(folder.join("src").join(file)));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    String::from_utf8(made).unwrap()
}

/// `UPDATE_HEADER=1 cargo test -p bertha-c --test header` writes the header anew.
#[test]
fn the_header_is_that_of_the_functions() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/bertha.h");
    let made = made();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let there = fs::read_to_string(&file).unwrap();
    assert!(there == made, "the header is old; write it anew with UPDATE_HEADER=1");
    let functions = made
        .lines()
        .filter(|line| !line.starts_with("//") && !line.starts_with("typedef"))
        .filter(|line| line.contains("bertha_") && line.contains('('))
        .count();
    assert!(made.contains("bertha_connect(") && functions <= MOST, "{functions} functions");
}

/// Each function of the library stands in a file of the header.
#[test]
fn no_function_is_left_out() {
    let header = made();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/boundary");
    let mut functions = 0;
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for line in
            text.lines().filter(|line| line.starts_with("pub") && line.contains("extern \"C\" fn bertha_"))
        {
            let name = line.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            assert!(header.contains(&format!("{name}(")), "{name}");
            functions += 1;
        }
    }
    assert!((25..=MOST).contains(&functions), "{functions}");
}
