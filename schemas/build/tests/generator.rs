//! The generated code is the code in `tests/generated`, which other tests include; and errors say what is wrong and where.

#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// Folder of the code that `tests/messages` includes.
const GENERATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/generated");

const PROTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/protos");

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

/// With `BLESS=1` in the environment, writes the code anew.
#[test]
fn the_code_is_as_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    let read = bertha_build::generate(&["hotel.proto"], &[PROTOS], folder.path()).unwrap();
    assert_eq!(read, ["hotel/place.proto", "hotel.proto"].map(|name| Path::new(PROTOS).join(name)));
    bertha_build::generate(&["odd.proto"], &[PROTOS], folder.path()).unwrap();
    let generated = files(folder.path());
    if env::var_os("BLESS").is_some() {
        generated.iter().for_each(|(name, code)| fs::write(Path::new(GENERATED).join(name), code).unwrap());
    }
    let reviewed = files(Path::new(GENERATED));
    assert_eq!(generated.keys().collect::<Vec<_>>(), reviewed.keys().collect::<Vec<_>>());
    for (name, code) in generated {
        assert!(
            code == reviewed[&name],
            "{name} is other than what stands in {GENERATED}: BLESS=1 writes it"
        );
    }
}

/// Returns the error about these files, of which the first is generated.
fn error(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    let generated = bertha_build::generate(&[files[0].0], &[folder.path()], folder.path());
    generated.unwrap_err().to_string()
}

/// Returns the error about a file of proto3 with these definitions, and with a method whose request is `M`.
fn error_about(definitions: &str) -> String {
    let service = "service S { rpc Do(M) returns (M); }";
    error(&[("bad.proto", &format!("syntax = \"proto3\"; package p; {service} {definitions}"))])
}

#[test]
fn errors_of_protobuf_name_the_line() {
    let text = "syntax = \"proto3\";\nmessage M {\n  int32 = 1;\n}\n";
    assert_eq!(error(&[("bad.proto", text)]), "bad.proto:3:9: expected an identifier, but found '='");
    assert_eq!(error_about("message M { Other other = 1; }"), "bad.proto:1:80: name 'Other' is not defined");
}

#[test]
fn errors_of_missing_files_tell_of_includes() {
    let text = "syntax = \"proto3\";\nimport \"other.proto\";\n";
    assert_eq!(
        error(&[("bad.proto", text)]),
        "bad.proto:2:1: import 'other.proto' not found: add the folder that has it to the includes"
    );
    let missing = bertha_build::generate(&["none.proto"], &[PROTOS], Path::new("/none")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "file 'none.proto' is not in any include path: add the folder that has it to the includes"
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    assert_eq!(
        error(&[("bad.proto", "syntax = \"proto3\"; message M {}")]),
        "bad.proto: no service of the descriptor set has a method"
    );
    let text = "syntax = \"proto3\"; import \"old.proto\"; service S { rpc Do(M) returns (M); }";
    assert_eq!(
        error(&[("bad.proto", text), ("old.proto", "syntax = \"proto2\"; message M {}")]),
        "old.proto, bad.proto: `M` is not of proto3"
    );
}

#[test]
fn names_that_clash_are_refused() {
    for (definitions, scope, name) in [
        ("message M { string a = 1; int32 a_mut = 2; }", "p.M", "a_mut"),
        ("message M { int32 a = 1; oneof set_a { int32 b = 2; } }", "p.M", "set_a"),
        ("message M { string new_in = 1; }", "p.M", "new_in"),
        ("message M { int32 http_code = 1; oneof HTTPCode { M m = 2; } }", "p.M", "http_code"),
        ("message M { E e = 1; } enum E { Z = 0; _z = 1; }", "p.E", "Z"),
        ("message M { m m = 1; } message m {}", "p", "M"),
        ("message M { E e = 1; oneof e_ { bool x = 2; } enum E { Z = 0; } }", "p.M", "e"),
        (
            "message M { m.E e = 1; bool f = 2; oneof x { bool y = 3; } } message m { enum E { Z = 0; } }",
            "p",
            "m",
        ),
        ("message M {} service T { rpc Do(M) returns (M); rpc _do(M) returns (M); }", "p.T", "Do"),
        ("message M {} service s { rpc Do(M) returns (M); }", "p", "s"),
    ] {
        let text = format!("bad.proto: two parts of `{scope}` would be `{name}` in Rust: rename one of them");
        assert_eq!(error_about(definitions), text, "{definitions}");
    }
}

#[test]
fn failures_to_write_name_the_file() {
    let folder = Path::new("/dev/null");
    let error = bertha_build::generate(&["hotel.proto"], &[PROTOS], folder).unwrap_err();
    let text = "cannot write `/dev/null/hotel.Hotels.bin`: Not a directory (os error 20)";
    assert_eq!(error.to_string(), text);
}

#[test]
fn only_build_scripts_have_a_folder() {
    let error = bertha_build::compile(&["hotel.proto"], &[PROTOS]).unwrap_err();
    assert_eq!(error.to_string(), "`OUT_DIR` is not set: call this function in a build script");
}
