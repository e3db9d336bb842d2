//! The header and the types of Rust are one interface.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "../../tests/built/mod.rs"]
mod built;

use bertha_plugin::abi::{self, Binding, Burst, Message, Sink, Table, Text, Value};
use std::mem::offset_of;
use std::process::Command;

/// Prints a line for each number of the header.
const PROGRAM: &str = r#"
#include "engine.h"
#include <stdio.h>
#define SHOW(number) printf("%zu\n", (size_t)(number))
int main(void) {
    SHOW(BERTHA_ENGINE_VERSION); SHOW(BERTHA_LONGEST_REASON); SHOW(BERTHA_MOST_VALUES); SHOW(BERTHA_NEVER);
    SHOW(BERTHA_DONE); SHOW(BERTHA_FAILED); SHOW(BERTHA_PASS); SHOW(BERTHA_REFUSE); SHOW(BERTHA_HOLD);
    SHOW(BERTHA_REQUEST); SHOW(BERTHA_CANCELLATION); SHOW(BERTHA_RESPONSE); SHOW(BERTHA_FAILURE);
    SHOW(BERTHA_TEXT); SHOW(BERTHA_BYTES); SHOW(BERTHA_SIGNED); SHOW(BERTHA_UNSIGNED); SHOW(BERTHA_FRACTION);
    SHOW(BERTHA_BOOL);
    SHOW(sizeof(bertha_text)); SHOW(offsetof(bertha_text, len));
    SHOW(sizeof(bertha_sink)); SHOW(sizeof(bertha_binding));
    SHOW(offsetof(bertha_binding, caller)); SHOW(offsetof(bertha_binding, methods));
    SHOW(offsetof(bertha_binding, method_count));
    SHOW(sizeof(bertha_value)); SHOW(offsetof(bertha_value, kind)); SHOW(offsetof(bertha_value, number));
    SHOW(offsetof(bertha_value, text));
    SHOW(sizeof(bertha_message)); SHOW(offsetof(bertha_message, method)); SHOW(offsetof(bertha_message, bytes));
    SHOW(offsetof(bertha_message, values)); SHOW(offsetof(bertha_message, value_count));
    SHOW(offsetof(bertha_message, kind)); SHOW(offsetof(bertha_message, failure));
    SHOW(offsetof(bertha_message, verdict)); SHOW(offsetof(bertha_message, refused_as));
    SHOW(offsetof(bertha_message, reason));
    SHOW(sizeof(bertha_burst)); SHOW(offsetof(bertha_burst, count)); SHOW(offsetof(bertha_burst, now));
    SHOW(offsetof(bertha_burst, held)); SHOW(offsetof(bertha_burst, release)); SHOW(offsetof(bertha_burst, due));
    SHOW(sizeof(bertha_engine)); SHOW(offsetof(bertha_engine, name)); SHOW(offsetof(bertha_engine, make));
    SHOW(offsetof(bertha_engine, reads)); SHOW(offsetof(bertha_engine, requests));
    SHOW(offsetof(bertha_engine, responses)); SHOW(offsetof(bertha_engine, configure));
    SHOW(offsetof(bertha_engine, take_apart)); SHOW(offsetof(bertha_engine, restore));
    SHOW(offsetof(bertha_engine, free));
    return 0;
}
"#;

#[test]
fn the_header_and_the_types_have_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("numbers.c"), folder.path().join("numbers"));
    std::fs::write(&source, PROGRAM).unwrap();
    if !built::compile(&source, &program, &[]) {
        return;
    }
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let printed: Vec<usize> = printed.lines().map(|line| line.parse().unwrap()).collect();
    let constants = [
        abi::VERSION as usize,
        abi::LONGEST_REASON,
        abi::MOST_VALUES,
        abi::NEVER as usize,
        abi::DONE as usize,
        abi::FAILED as usize,
    ];
    let small = [
        abi::verdict::PASS,
        abi::verdict::REFUSE,
        abi::verdict::HOLD,
        abi::kind::REQUEST,
        abi::kind::CANCELLATION,
        abi::kind::RESPONSE,
        abi::kind::FAILURE,
    ];
    let values = [
        abi::value::TEXT,
        abi::value::BYTES,
        abi::value::SIGNED,
        abi::value::UNSIGNED,
        abi::value::FRACTION,
        abi::value::BOOL,
    ];
    let layout = [
        size_of::<Text>(),
        offset_of!(Text, len),
        size_of::<Sink>(),
        size_of::<Binding>(),
        offset_of!(Binding, caller),
        offset_of!(Binding, methods),
        offset_of!(Binding, method_count),
        size_of::<Value>(),
        offset_of!(Value, kind),
        offset_of!(Value, number),
        offset_of!(Value, text),
        size_of::<Message>(),
        offset_of!(Message, method),
        offset_of!(Message, bytes),
        offset_of!(Message, values),
        offset_of!(Message, value_count),
        offset_of!(Message, kind),
        offset_of!(Message, failure),
        offset_of!(Message, verdict),
        offset_of!(Message, refused_as),
        offset_of!(Message, reason),
        size_of::<Burst>(),
        offset_of!(Burst, count),
        offset_of!(Burst, now),
        offset_of!(Burst, held),
        offset_of!(Burst, release),
        offset_of!(Burst, due),
        size_of::<Table>(),
        offset_of!(Table, name),
        offset_of!(Table, make),
        offset_of!(Table, reads),
        offset_of!(Table, requests),
        offset_of!(Table, responses),
        offset_of!(Table, configure),
        offset_of!(Table, take_apart),
        offset_of!(Table, restore),
        offset_of!(Table, free),
    ];
    let ours: Vec<_> = constants
        .into_iter()
        .chain(small.map(usize::from))
        .chain(values.map(|value| value as usize))
        .chain(layout)
        .collect();
    assert_eq!(ours, printed);
}
